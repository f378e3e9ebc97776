package org.isobar.verify;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.isobar.device.Arena;
import org.isobar.device.Device;
import org.isobar.device.Span;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.nn.Parameter;
import org.isobar.nn.Pass;
import org.isobar.tensor.Tensor;
import org.isobar.train.GradientSync;
import org.isobar.train.MemoryPlan;
import org.isobar.train.Replica;
import org.isobar.vit.VitConfig;

/** One model twice on the same weights and global batch: whole on each rank, and cut as a layout has it. */
final class TwinModels implements AutoCloseable {
    private static final double LEARNING_RATE = 1e-3;
    private static final long SEED = 3;

    private final Device device;
    private final Communicators communicators;
    private final Slices slices;
    private final int globalBatch;
    private final Arena images;
    private final Twin whole;
    private final Twin cut;

    /** A replica with its part of the batch. */
    private record Twin(Replica replica, Replica.Memory memory, Tensor input, Tensor target, Span samples) { }

    TwinModels(Device device, Communicators communicators, VitConfig config) {
        this.device = device;
        this.communicators = communicators;
        slices = new Slices(device);
        int replicas = communicators.grid().size(Axis.DP);
        globalBatch = 2 * replicas;
        images = device.arena("images", 1 << 26);
        whole = twin(config, Communicators.alone(device.ops()::copy), MemoryPlan.of(config, globalBatch),
            Span.whole(globalBatch));
        int place = communicators.coordinate(Axis.DP);
        int rank = communicators.along(Axis.values()).group().rank();
        cut = twin(config, communicators, MemoryPlan.of(config, 2, communicators.grid(), rank),
            new Span(place, replicas, globalBatch));
    }

    private Twin twin(VitConfig config, Communicators ranks, MemoryPlan plan, Span samples) {
        int batch = globalBatch / Math.toIntExact(samples.step());
        Replica.Memory memory = Replica.Memory.of(device, plan);
        Replica replica = new Replica(device, config, batch, memory, ranks, new GradientSync.Options(0.02,
            GradientSync.Replicas.TOGETHER));
        replica.initialize(SEED);
        slices.fill(replica.parameters());
        Tensor input = images.f32(batch, config.inChannels(), config.height(), config.width());
        Tensor target = images.f32(batch, config.outChannels(), config.height(), config.width());
        long elements = input.elements() / batch * globalBatch;
        slices.write(input, pick(Slices.random("input", elements, 1), samples));
        slices.write(target, pick(Slices.random("target", elements, 1), samples));
        return new Twin(replica, memory, input, target, samples);
    }

    private float[] pick(float[] all, Span samples) {
        return Slices.strided(all, globalBatch, Math.toIntExact(samples.start()), Math.toIntExact(samples.step()));
    }

    /** Compares every weight's gradient, the losses of some training steps, and the weights after them. */
    List<LayoutCheck.Result> compare(int steps, double lossTolerance, double tolerance) {
        List<LayoutCheck.Result> results = new ArrayList<>();
        double expected = gradients(whole);
        double loss = gradients(cut);
        results.add(result("model: loss", Math.abs(loss / expected - 1), lossTolerance));
        compare("model: gradient of ", cut.replica().parameters().gradientDict(),
            whole.replica().parameters().gradientDict(), tolerance, results);
        for (int step = 0; step < steps; step++) {
            expected = train(whole, step);
            loss = train(cut, step);
            results.add(result("model: loss of step " + step, Math.abs(loss / expected - 1),
                step <= 1 ? lossTolerance : 10 * lossTolerance));
        }
        compare("model: weights after " + steps + " steps: ", cut.replica().parameters().stateDict(),
            whole.replica().parameters().stateDict(), 10 * tolerance, results);
        results.add(result("model: replicas differ", cut.replica().agrees(communicators) ? 0 : 1, 0));
        return results;
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
        for (Parameter.Part part : Slices.parts(cut.replica().parameters())) {
            if (!part.name().endsWith("k.bias")) {
                float[] slice = Slices.slice(slices.read(expected.get(part.name())), part.shape(), part.shard());
                results.add(result(what + part.name(), Slices.error(slices.read(actual.get(part.name())), slice),
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
