package org.isobar.verify.layout;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;

import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.ops.IndexSpan;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Communicators;
import org.isobar.nn.Parameter;
import org.isobar.nn.Pass;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.Replica;
import org.isobar.train.step.StepMemory;
import org.isobar.vit.VitConfig;

/**
 * One model twice on the same weights and global batch: whole, and cut as a layout has it. Rank 0 alone computes the
 * whole one and tells the others what came out.
 */
final class TwinModels implements AutoCloseable {
    private static final double LEARNING_RATE = 1e-3;
    private static final long SEED = 3;
    private static final long SMALL = 1 << 16; // bytes

    private final Device device;
    private final Communicators communicators;
    private final RankSlices slices;
    private final Communicator everybody;
    private final int globalBatch;
    private final DeviceArena images;
    private final Twin whole;
    private final Twin cut;

    /** A replica with its part of the batch. */
    private record Twin(Replica replica, StepMemory memory, Tensor input, Tensor target, IndexSpan samples) { }

    /** Twins for {@code batch} samples on each replica. */
    TwinModels(Device device, Communicators communicators, VitConfig config, int batch) {
        this.device = device;
        this.communicators = communicators;
        slices = new RankSlices(device);
        int replicas = communicators.grid().size(Axis.DP);
        everybody = communicators.along(Axis.values());
        globalBatch = batch * replicas;
        images = device.arena("images", 4 * globalBatch * imageBytes(config) + SMALL);
        int samples = isFirst() ? globalBatch : 1; // the others need the whole one's weights and gradients alone
        whole = twin(config, Communicators.alone(device.ops()::copy), MemoryPlan.of(config, samples),
            new IndexSpan(0, globalBatch / samples, globalBatch));
        cut = twin(config, communicators,
            MemoryPlan.of(config, batch, communicators.grid(), everybody.group().rank()),
            new IndexSpan(communicators.coordinate(Axis.DP), replicas, globalBatch));
    }

    private static long imageBytes(VitConfig config) {
        long channels = Math.max(config.inChannels(), config.outChannels());
        return DeviceArena.align(channels * config.height() * config.width() * Float.BYTES);
    }

    private boolean isFirst() {
        return everybody.group().index() == 0;
    }

    private Twin twin(VitConfig config, Communicators ranks, MemoryPlan plan, IndexSpan samples) {
        int batch = globalBatch / Math.toIntExact(samples.step());
        device.reserve(plan.footprint());
        StepMemory memory = plan.allocate(device);
        Replica replica = new Replica(device, config, batch, memory, ranks, new GradientSync.Options(0.02,
            GradientSync.Replicas.TOGETHER));
        replica.initialize(SEED);
        slices.fill(replica.parameters());
        Tensor input = images.f32(batch, config.inChannels(), config.height(), config.width());
        Tensor target = images.f32(batch, config.outChannels(), config.height(), config.width());
        long elements = input.elements() / batch * globalBatch;
        slices.write(input, pick(RankSlices.random("input", elements, 1), samples));
        slices.write(target, pick(RankSlices.random("target", elements, 1), samples));
        return new Twin(replica, memory, input, target, samples);
    }

    private float[] pick(float[] all, IndexSpan samples) {
        return RankSlices.strided(all, globalBatch, Math.toIntExact(samples.start()), Math.toIntExact(samples.step()));
    }

    /** Compares every weight's gradient, the losses of some training steps, and the weights after them. */
    List<LayoutCheck.Result> compare(int steps, double lossTolerance, double tolerance) {
        List<LayoutCheck.Result> results = new ArrayList<>();
        double expected = ofWhole(1, whole.replica().parameters().gradients(), step -> gradients(whole))[0];
        results.add(result("model: loss", Math.abs(gradients(cut) / expected - 1), lossTolerance));
        compare("model: gradient of ", cut.replica().parameters().gradientDict(),
            whole.replica().parameters().gradientDict(), tolerance, results);
        double[] losses = ofWhole(steps, whole.replica().parameters().values(), step -> train(whole, step));
        for (int step = 0; step < steps; step++) {
            results.add(result("model: loss of step " + step, Math.abs(train(cut, step) / losses[step] - 1),
                step <= 1 ? lossTolerance : 10 * lossTolerance));
            results.add(result("model: replicas differ after step " + step,
                cut.replica().agrees(communicators) ? 0 : 1, 0));
        }
        compare("model: weights after " + steps + " steps: ", cut.replica().parameters().stateDict(),
            whole.replica().parameters().stateDict(), 10 * tolerance, results);
        return results;
    }

    /** Rank 0 takes steps with the whole model; all ranks learn its losses, and {@code outcome} as it is then. */
    private double[] ofWhole(int steps, Tensor outcome, IntToDoubleFunction step) {
        double[] losses = isFirst() ? IntStream.range(0, steps).mapToDouble(step).toArray() : new double[steps];
        try (DeviceArena.Scope scope = images.scope()) {
            Tensor told = scope.allocate(DType.F64, steps);
            device.upload(told, MemorySegment.ofArray(losses));
            everybody.broadcast(told, 0).await();
            device.download(MemorySegment.ofArray(losses), told);
        }
        everybody.broadcast(outcome, 0).await();
        return losses;
    }

    private double gradients(Twin twin) {
        return twin.replica().gradients(twin.input(), twin.target(), new Pass.Masks(SEED, 0, twin.samples()));
    }

    private double train(Twin twin, int step) {
        return twin.replica().trainStep(twin.input(), twin.target(),
            new Replica.StepContext(SEED, step, twin.samples(), LEARNING_RATE));
    }

    private void compare(String what, Map<String, Tensor> actual, Map<String, Tensor> expected, double tolerance,
        List<LayoutCheck.Result> results) {
        for (Parameter.Part part : RankSlices.parts(cut.replica().parameters())) {
            if (!part.name().endsWith("k.bias")) {
                float[] slice = RankSlices.slice(slices.read(expected.get(part.name())), part.shape(), part.shard());
                results.add(result(what + part.name(), RankSlices.error(slices.read(actual.get(part.name())), slice),
                    tolerance));
            }
        }
    }

    private LayoutCheck.Result result(String what, double error, double tolerance) {
        return new LayoutCheck.Result(what, TwinLayers.largest(device, communicators, error, images), tolerance);
    }

    @Override
    public void close() {
        cut.memory().close();
        whole.memory().close();
        images.close();
    }
}
