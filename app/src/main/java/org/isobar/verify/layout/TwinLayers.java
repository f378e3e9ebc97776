package org.isobar.verify.layout;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.ops.IndexSpan;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.Reduction;
import org.isobar.nn.Layer;
import org.isobar.nn.Layout;
import org.isobar.nn.Parameter;
import org.isobar.nn.ParameterScope;
import org.isobar.nn.ParameterStore;
import org.isobar.nn.Pass;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.step.GradientSync;
import org.isobar.vit.VitConfig;

/** One layer twice on the same weights and input: whole, and cut as a layout has it. */
final class TwinLayers implements AutoCloseable {
    private static final int BATCH = 2;

    private final Device device;
    private final Communicators communicators;
    private final VitConfig config;
    private final RankSlices slices;
    private final DeviceArena state;
    private final DeviceArena kept;
    private final DeviceArena scratch;

    TwinLayers(Device device, Communicators communicators, VitConfig config) {
        this.device = device;
        this.communicators = communicators;
        this.config = config;
        slices = new RankSlices(device);
        int rank = communicators.along(Axis.values()).group().rank();
        device.reserve(MemoryPlan.of(config, BATCH).footprint());
        device.reserve(MemoryPlan.of(config, BATCH, communicators.grid(), rank).footprint());
        long width = config.embed() + config.hidden();
        long room = 64 * Float.BYTES * (BATCH * config.tokens() * width + width * config.embed()); // for any of these
        state = device.arena("state", room);
        kept = device.arena("kept", room);
        scratch = device.arena("scratch", room);
    }

    /** What forward and backward of a layer yield on this rank. */
    private record Outcome(ParameterStore parameters, float[] y, float[] dx) { }

    /** Compares outputs, the input's gradient and every weight's. */
    List<LayoutCheck.Result> compare(String name, Function<ParameterScope, Layer> build, double tolerance) {
        try (DeviceArena.Scope scope = state.scope()) {
            Communicators alone = Communicators.alone(device.ops()::copy);
            Outcome whole = run(build, alone, scope);
            Outcome cut = run(build, communicators, scope);
            List<LayoutCheck.Result> results = new ArrayList<>();
            results.add(result(name + ": output", cut.y(), tokens(whole.y()), tolerance));
            results.add(result(name + ": gradient of the input", cut.dx(), tokens(whole.dx()), tolerance));
            Map<String, Tensor> gradients = cut.parameters().gradientDict();
            Map<String, Tensor> expected = whole.parameters().gradientDict();
            for (Parameter.Part part : RankSlices.parts(cut.parameters())) {
                if (!part.name().endsWith("k.bias")) {
                    float[] slice =
                        RankSlices.slice(slices.read(expected.get(part.name())), part.shape(), part.shard());
                    results.add(result(name + ": gradient of " + part.name(),
                        slices.read(gradients.get(part.name())), slice, tolerance));
                }
            }
            return results;
        }
    }

    private Outcome run(Function<ParameterScope, Layer> build, Communicators ranks, DeviceArena.Scope scope) {
        ParameterStore parameters = new ParameterStore();
        Layout layout = Layout.of(ranks, config.tokens());
        Layer layer = build.apply(ParameterScope.root(parameters, layout).onSequenceShard());
        Tensor values = scope.f32(parameters.elements());
        parameters.bind(values, scope.f32(parameters.elements()));
        device.ops().fill(parameters.values(), 0);
        device.ops().fill(parameters.gradients(), 0);
        slices.fill(parameters);
        long elements = BATCH * config.tokens() * config.embed();
        long here = layout.sequence().here();
        Tensor x = scope.f32(BATCH, here, config.embed());
        Tensor dy = scope.f32(BATCH, here, config.embed());
        Tensor y = scope.f32(BATCH, here, config.embed());
        Tensor dx = scope.f32(BATCH, here, config.embed());
        slices.write(x, tokens(RankSlices.random("x", elements, 1), layout));
        slices.write(dy, tokens(RankSlices.random("dy", elements, 1), layout));
        GradientSync sync = new GradientSync(parameters, ranks,
            new GradientSync.Options(0.01, GradientSync.Replicas.APART));
        Pass pass = new Pass(device.ops(), kept, scratch, new Pass.Masks(3, 1, IndexSpan.whole(BATCH)), sync::ready);
        layer.forward(y, x, pass);
        layer.backward(dx, dy, x, pass);
        pass.finish();
        sync.await();
        return new Outcome(parameters, slices.read(y), slices.read(dx));
    }

    private float[] tokens(float[] whole) {
        return tokens(whole, Layout.of(communicators, config.tokens()));
    }

    /** This rank's tokens of every sample. */
    private float[] tokens(float[] whole, Layout layout) {
        IndexSpan span = layout.sequence().span();
        int here = Math.toIntExact(layout.sequence().here()) * config.embed();
        int all = Math.toIntExact(config.tokens()) * config.embed();
        float[] part = new float[BATCH * here];
        for (int sample = 0; sample < BATCH; sample++) {
            System.arraycopy(whole, sample * all + Math.toIntExact(span.start()) * config.embed(), part,
                sample * here, here);
        }
        return part;
    }

    private LayoutCheck.Result result(String what, float[] actual, float[] expected, double tolerance) {
        double error = RankSlices.error(actual, expected);
        return new LayoutCheck.Result(what, largest(device, communicators, error, scratch), tolerance);
    }

    /** The largest of all ranks' values. */
    static double largest(Device device, Communicators communicators, double value, DeviceArena room) {
        try (DeviceArena.Scope scope = room.scope()) {
            Tensor all = scope.allocate(DType.F64, 1);
            device.upload(all, MemorySegment.ofArray(new double[] {value}));
            communicators.along(Axis.values()).allReduce(all, Reduction.MAX).await();
            double[] largest = new double[1];
            device.download(MemorySegment.ofArray(largest), all);
            return largest[0];
        }
    }

    @Override
    public void close() {
        scratch.close();
        kept.close();
        state.close();
    }
}
