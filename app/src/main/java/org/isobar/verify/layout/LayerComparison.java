package org.isobar.verify.layout;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.ops.IndexSpan;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.nn.Layer;
import org.isobar.nn.Layout;
import org.isobar.nn.Parameter;
import org.isobar.nn.ParameterScope;
import org.isobar.nn.ParameterStore;
import org.isobar.nn.Pass;
import org.isobar.tensor.Tensor;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.step.GradientSync;
import org.isobar.vit.VitConfig;

/** Runs a layer whole and partitioned, on the same weights and input, and compares the results. */
final class LayerComparison implements AutoCloseable {
    private static final int BATCH = 2;

    private final Device device;
    private final Communicators communicators;
    private final VitConfig config;
    private final RankSlices slices;
    private final DeviceArena state;
    private final DeviceArena kept;
    private final DeviceArena scratch;

    LayerComparison(Device device, Communicators communicators, VitConfig config) {
        this.device = device;
        this.communicators = communicators;
        this.config = config;
        slices = new RankSlices(device);
        int rank = communicators.along(Axis.values()).group().rank();
        device.reserve(MemoryPlan.of(config, BATCH).footprint());
        device.reserve(MemoryPlan.of(config, BATCH, communicators.grid(), rank).footprint());
        long width = config.embed() + config.hidden();
        // Enough for any of the layers.
        long capacity = 64 * Float.BYTES * (BATCH * config.tokens() * width + width * config.embed());
        state = device.arena("state", capacity);
        kept = device.arena("kept", capacity);
        scratch = device.arena("scratch", capacity);
    }

    /** Results of forward and backward on this rank. */
    private record LayerResult(ParameterStore parameters, float[] y, float[] dx) { }

    /** Compares the output, the gradient of the input, and the gradients of all weights. */
    List<LayoutDeviation> compare(String name, Function<ParameterScope, Layer> build, double tolerance) {
        try (DeviceArena.Scope scope = state.scope()) {
            Communicators alone = Communicators.alone(device.ops().memory()::copy);
            LayerResult whole = run(build, alone, scope);
            LayerResult partitioned = run(build, communicators, scope);
            List<LayoutDeviation> results = new ArrayList<>();
            results.add(result(name + ": output", partitioned.y(), tokens(whole.y()), tolerance));
            results.add(result(name + ": gradient of the input", partitioned.dx(), tokens(whole.dx()), tolerance));
            Map<String, Tensor> gradients = partitioned.parameters().gradientDict();
            Map<String, Tensor> expected = whole.parameters().gradientDict();
            for (Parameter.Part part : RankSlices.parts(partitioned.parameters())) {
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

    private LayerResult run(Function<ParameterScope, Layer> build, Communicators ranks, DeviceArena.Scope scope) {
        ParameterStore parameters = new ParameterStore();
        Layout layout = Layout.of(ranks, config.tokens());
        Layer layer = build.apply(ParameterScope.root(parameters, layout).onSequenceShard());
        Tensor values = scope.f32(parameters.elements());
        parameters.bind(values, scope.f32(parameters.elements()));
        device.ops().memory().fill(parameters.values(), 0);
        device.ops().memory().fill(parameters.gradients(), 0);
        slices.fill(parameters);
        long elements = BATCH * config.tokens() * config.embed();
        long localTokens = layout.sequence().here();
        Tensor x = scope.f32(BATCH, localTokens, config.embed());
        Tensor dy = scope.f32(BATCH, localTokens, config.embed());
        Tensor y = scope.f32(BATCH, localTokens, config.embed());
        Tensor dx = scope.f32(BATCH, localTokens, config.embed());
        slices.write(x, tokens(RankSlices.random("x", elements, 1), layout));
        slices.write(dy, tokens(RankSlices.random("dy", elements, 1), layout));
        GradientSync sync = new GradientSync(parameters, ranks,
            new GradientSync.Options(0.01, GradientSync.Replicas.APART));
        Pass pass = new Pass(device.ops(), kept, scratch, new Pass.Masks(3, 1, IndexSpan.whole(BATCH)), sync::ready);
        layer.forward(y, x, pass);
        layer.backward(dx, dy, x, pass);
        pass.finish();
        sync.await();
        return new LayerResult(parameters, slices.read(y), slices.read(dx));
    }

    private float[] tokens(float[] all) {
        return tokens(all, Layout.of(communicators, config.tokens()));
    }

    /** The tokens of this rank, of every sample. */
    private float[] tokens(float[] all, Layout layout) {
        IndexSpan span = layout.sequence().span();
        int localSize = Math.toIntExact(layout.sequence().here()) * config.embed();
        int size = Math.toIntExact(config.tokens()) * config.embed();
        float[] part = new float[BATCH * localSize];
        for (int sample = 0; sample < BATCH; sample++) {
            System.arraycopy(all, sample * size + Math.toIntExact(span.start()) * config.embed(), part,
                sample * localSize, localSize);
        }
        return part;
    }

    private LayoutDeviation result(String what, float[] actual, float[] expected, double tolerance) {
        double error = RankSlices.error(actual, expected);
        return new LayoutDeviation(what, RankMaximum.of(device, communicators, error, scratch), tolerance);
    }

    @Override
    public void close() {
        scratch.close();
        kept.close();
        state.close();
    }
}
