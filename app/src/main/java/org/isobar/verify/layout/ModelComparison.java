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
import org.isobar.model.ModelSpec;
import org.isobar.nn.Parameter;
import org.isobar.nn.Pass;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.Replica;
import org.isobar.train.step.StepMemory;
import org.isobar.train.step.TrainStep;

/**
 * Trains a model whole and partitioned, from the same weights and on the same global batch, and compares the results.
 * Rank 0 computes the whole model and broadcasts the results.
 */
final class ModelComparison implements AutoCloseable {
    private static final double LEARNING_RATE = 1e-3;
    private static final long SEED = 3;
    private static final long SCALARS = 1 << 16; // bytes, for losses and errors

    private final Device device;
    private final Communicators communicators;
    private final RankSlices slices;
    private final Communicator allRanks;
    private final int globalBatch;
    private final DeviceArena images;
    private final Variant whole;
    private final Variant partitioned;

    /** A model with its part of the global batch. */
    private record Variant(Replica replica, StepMemory memory, Tensor input, Tensor target, IndexSpan samples) { }

    /** Creates both models for {@code batch} samples per data-parallel replica. */
    ModelComparison(Device device, Communicators communicators, ModelSpec config, int batch) {
        this.device = device;
        this.communicators = communicators;
        slices = new RankSlices(device);
        int replicas = communicators.grid().size(Axis.DP);
        allRanks = communicators.along(Axis.values());
        globalBatch = batch * replicas;
        images = device.arena("images", 4 * globalBatch * imageBytes(config) + SCALARS);
        int samples = isFirst() ? globalBatch : 1; // other ranks need the weights and gradients of the whole model only
        whole = variant(config, Communicators.alone(device.ops().memory()::copy), MemoryPlan.of(config, samples),
            new IndexSpan(0, globalBatch / samples, globalBatch));
        partitioned = variant(config, communicators,
            MemoryPlan.of(config, batch, communicators.grid(), allRanks.group().rank()),
            new IndexSpan(communicators.coordinate(Axis.DP), replicas, globalBatch));
    }

    private static long imageBytes(ModelSpec config) {
        long channels = Math.max(config.inChannels(), config.outChannels());
        return DeviceArena.align(channels * config.height() * config.width() * Float.BYTES);
    }

    private boolean isFirst() {
        return allRanks.group().index() == 0;
    }

    private Variant variant(ModelSpec config, Communicators ranks, MemoryPlan plan, IndexSpan samples) {
        int batch = globalBatch / Math.toIntExact(samples.step());
        device.reserve(plan.footprint());
        StepMemory memory = plan.allocate(device);
        Replica replica = new Replica(device, config, batch, memory, ranks, new GradientSync.Options(0.02,
            GradientSync.Replicas.TOGETHER));
        replica.model().initialize(SEED);
        slices.fill(replica.model().parameters());
        Tensor input = images("input", config.input(batch), config.input(globalBatch), samples);
        Tensor target = images("target", config.prediction(batch), config.prediction(globalBatch), samples);
        return new Variant(replica, memory, input, target, samples);
    }

    /** Random images of this rank: {@code samples} of the global batch of that name. */
    private Tensor images(String name, Shape local, Shape global, IndexSpan samples) {
        Tensor tensor = images.allocate(DType.F32, local.extents());
        slices.write(tensor, RankSlices.strided(RankSlices.random(name, global.elements(), 1), globalBatch,
            Math.toIntExact(samples.start()), Math.toIntExact(samples.step())));
        return tensor;
    }

    /** Compares gradients of all weights, the losses of {@code steps} training steps, and the weights after them. */
    List<LayoutDeviation> compare(int steps, double lossTolerance, double tolerance) {
        List<LayoutDeviation> results = new ArrayList<>();
        double expected = runWhole(1, whole.replica().model().parameters().gradients(), step -> gradients(whole))[0];
        results.add(result("model: loss", Math.abs(gradients(partitioned) / expected - 1), lossTolerance));
        compare("model: gradient of ", partitioned.replica().model().parameters().gradientDict(),
            whole.replica().model().parameters().gradientDict(), tolerance, results);
        double[] losses = runWhole(steps, whole.replica().model().parameters().values(), step -> train(whole, step));
        for (int step = 0; step < steps; step++) {
            results.add(result("model: loss of step " + step, Math.abs(train(partitioned, step) / losses[step] - 1),
                step <= 1 ? lossTolerance : 10 * lossTolerance));
            results.add(result("model: replicas differ after step " + step,
                partitioned.replica().consensus().agreeOn(partitioned.replica().model().parameters()) ? 0 : 1, 0));
        }
        compare("model: weights after " + steps + " steps: ", partitioned.replica().model().parameters().stateDict(),
            whole.replica().model().parameters().stateDict(), 10 * tolerance, results);
        return results;
    }

    /** Runs steps of the whole model on rank 0; broadcasts their losses and then {@code result}. */
    private double[] runWhole(int steps, Tensor result, IntToDoubleFunction step) {
        double[] losses = isFirst() ? IntStream.range(0, steps).mapToDouble(step).toArray() : new double[steps];
        try (DeviceArena.Scope scope = images.scope()) {
            Tensor buffer = scope.allocate(DType.F64, steps);
            device.upload(buffer, MemorySegment.ofArray(losses));
            allRanks.broadcast(buffer, 0).await();
            device.download(MemorySegment.ofArray(losses), buffer);
        }
        allRanks.broadcast(result, 0).await();
        return losses;
    }

    private double gradients(Variant variant) {
        return variant.replica().step()
            .gradients(variant.input(), variant.target(), new Pass.Masks(SEED, 0, variant.samples()));
    }

    private double train(Variant variant, int step) {
        return variant.replica().step().run(variant.input(), variant.target(),
            new TrainStep.Context(SEED, step, variant.samples(), LEARNING_RATE));
    }

    private void compare(String what, Map<String, Tensor> actual, Map<String, Tensor> expected, double tolerance,
        List<LayoutDeviation> results) {
        for (Parameter.Part part : RankSlices.parts(partitioned.replica().model().parameters())) {
            if (!part.name().endsWith("k.bias")) {
                float[] slice = RankSlices.slice(slices.read(expected.get(part.name())), part.shape(), part.shard());
                results.add(result(what + part.name(), RankSlices.error(slices.read(actual.get(part.name())), slice),
                    tolerance));
            }
        }
    }

    private LayoutDeviation result(String what, double error, double tolerance) {
        return new LayoutDeviation(what, RankMaximum.of(device, communicators, error, images), tolerance);
    }

    @Override
    public void close() {
        partitioned.memory().close();
        whole.memory().close();
        images.close();
    }
}
