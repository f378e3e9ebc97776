package org.isobar.train.step;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.ProfilerRanges;
import org.isobar.device.Readback;
import org.isobar.device.ops.IndexSpan;
import org.isobar.device.ops.TensorOps;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.nn.Layout;
import org.isobar.nn.Parameter;
import org.isobar.nn.ParameterStore;
import org.isobar.nn.Pass;
import org.isobar.optim.Adam;
import org.isobar.optim.GradScaler;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.vit.VisionTransformer;
import org.isobar.vit.VitConfig;

/** One model on one device, with its optimizer and all the memory that a training step of a fixed batch needs. */
public final class Replica implements AutoCloseable {
    private final Device device;
    private final DType compute;
    private final StepMemory memory;
    private final ParameterStore parameters = new ParameterStore();
    private final VisionTransformer model;
    private final Adam adam;
    private final GradientSync sync;
    private final StepLauncher steps;
    private final Communicator replicas;
    private final Communicator all;
    private final Tensor prediction; // (B, Cout, H, W)
    private final ScoreTensors results;
    private final Consensus consensus;

    /**
     * What distinguishes one training step from another.
     *
     * @param seed         of the run
     * @param step         steps taken before it, over the whole run
     * @param samples      how this replica's samples lie in the global batch
     * @param learningRate of this step
     * @param wish         of this rank
     */
    public record StepContext(long seed, long step, IndexSpan samples, double learningRate, RunSignal wish) {
        /** A step after which nothing is wished for. */
        public StepContext(long seed, long step, IndexSpan samples, double learningRate) {
            this(seed, step, samples, learningRate, RunSignal.NOTHING);
        }
    }

    /**
     * Scores of one global batch.
     *
     * @param batch its loss
     * @param rmse  latitude-weighted RMSE of each channel, of normalized fields
     */
    public record Evaluation(BatchLoss batch, double[] rmse) {
        /** Mean relative L2 loss. */
        public double loss() {
            return batch.mean();
        }
    }

    /** How the operations of training steps are given to the device. The results are the same bits. */
    public enum Steps {
        /** The host issues each operation of each step. */
        ISSUED,
        /** Captured once, on a device that {@link Device#canCapture can}, and launched as a whole; not with dropout. */
        CAPTURED
    }

    /**
     * How a replica trains, besides its model and batch.
     *
     * @param compute the type that products are computed in, one that the device supports
     * @param adam    how the weights are updated
     * @param sync    how gradients are reduced
     * @param steps   how steps come to the device
     */
    public record Options(DType compute, Adam.Options adam, GradientSync.Options sync, Steps steps) {
        /** Products in {@code compute}, its losses scaled as it needs, the weights updated in one go. */
        public static Options of(DType compute, GradientSync.Options sync) {
            return new Options(compute, new Adam.Options(GradScaler.of(compute), Adam.Launch.ONCE), sync, Steps.ISSUED);
        }
    }

    /** A replica that computes in single precision. */
    public Replica(Device device, VitConfig config, int batch, StepMemory memory, Communicators communicators,
        GradientSync.Options sync) {
        this(device, config, batch, memory, communicators, Options.of(DType.F32, sync));
    }

    /**
     * This rank's part of a replica for local batches of {@code batch} samples; its weights are undefined until
     * {@link #initialize}. Memory and communicators stay the caller's: after a failure, the communicators must be
     * closed before the memory is. A replica whose steps are captured must be closed before both.
     */
    public Replica(Device device, VitConfig config, int batch, StepMemory memory, Communicators communicators,
        Options options) {
        this.device = device;
        this.memory = memory;
        compute = options.compute();
        replicas = communicators.along(Axis.DP);
        all = communicators.along(Axis.values());
        model = new VisionTransformer(parameters, config, Layout.of(communicators, config.tokens()));
        DeviceArena state = memory.state();
        Tensor values = state.f32(parameters.elements());
        Tensor copies = compute == DType.F32 ? values : state.allocate(compute, parameters.elements());
        parameters.bind(values, copies, state.f32(parameters.elements()));
        adam = new Adam(device, parameters, state, options.adam(), judges(communicators, options));
        sync = new GradientSync(parameters, communicators, options.sync());
        steps = new StepLauncher(device, options.steps());
        prediction = state.f32(batch, config.outChannels(), config.height(), config.width());
        results = ScoreTensors.in(state, config.outChannels(), batch);
        consensus = new Consensus(device, state.allocate(DType.F64, 2));
        state.seal();
    }

    /** All ranks that skip the same steps; this one alone where none is ever skipped. */
    private static Communicator judges(Communicators communicators, Options options) {
        Set<Axis> axes = EnumSet.noneOf(Axis.class);
        if (options.adam().judgesGradients()) {
            axes = EnumSet.allOf(Axis.class);
            if (options.sync().replicas() == GradientSync.Replicas.APART) {
                axes.remove(Axis.DP);
            }
        }
        return communicators.along(axes);
    }

    /**
     * Whether all ranks that hold the same slices of weights hold the same bits, and all ranks of a tensor-parallel
     * group the same bits of weights that are not cut. All ranks ask together.
     */
    public boolean agrees(Communicators communicators) {
        List<Tensor> uncut = parameters.parameters().stream()
            .filter(parameter -> parameter.parts().stream().allMatch(part -> part.shard().parts() == 1))
            .map(Parameter::value).toList();
        boolean replicasAgree = consensus.agree(communicators.along(Axis.DP, Axis.CP), List.of(parameters.values()));
        return consensus.agree(communicators.along(Axis.TP), uncut) && replicasAgree;
    }

    /** Sets the initial weights of a run with the given seed. */
    public void initialize(long seed) {
        parameters.initialize(device, seed);
    }

    /** All parameters. */
    public ParameterStore parameters() {
        return parameters;
    }

    /** The type that products are computed in. */
    public DType compute() {
        return compute;
    }

    /** The device that this replica lives on. */
    public Device device() {
        return device;
    }

    /** The prediction that was made last, (B, Cout, H, W); a training step overwrites it with its gradient. */
    public Tensor prediction() {
        return prediction;
    }

    /**
     * Issues one training step on this rank's samples of a global batch of normalized images and returns without
     * waiting for the device. What it returns waits for the step, and gives the loss of the global batch before the
     * update; it is asked once, and soon, as few can be under way ({@link Device#read}).
     */
    public Supplier<BatchLoss> issue(Tensor input, Tensor target, StepContext context) {
        adam.setLearningRate(context.learningRate());
        tell(context.wish());
        steps.run(input, target, () -> step(input, target, context));
        Readback loss = device.read(results.lossWishAndNorms());
        return () -> BatchLoss.of(loss.await());
    }

    /** Issues one training step and waits for its loss; see {@link #issue}. */
    public double trainStep(Tensor input, Tensor target, StepContext context) {
        return issue(input, target, context).get().mean();
    }

    /**
     * The operations of a step, which can be captured: except for masks, nothing that differs between steps is passed
     * by value.
     *
     * <p>The optimizer judges the loss, so all ranks must have the same. The ranks of a model have the same bits of it:
     * what tp and cp cut is put together again by collectives that give each rank the same bits, and each then does the
     * rest for the whole image. Those of dp have them from the mean.
     */
    private void step(Tensor input, Tensor target, StepContext context) {
        Work wishes = hearWishes();
        differentiate(input, target, new Pass.Masks(context.seed(), context.step(), context.samples()),
            Pass.Inspector.NONE);
        average(results.loss());
        try (ProfilerRanges.Range _ = device.ranges().open("optimizer")) {
            adam.unscale();
            adam.step(results.loss());
        }
        wishes.await();
    }

    /** Sets all gradients to those of the loss of one global batch; returns the loss. */
    public double gradients(Tensor input, Tensor target, Pass.Randomness randomness) {
        return gradients(input, target, randomness, Pass.Inspector.NONE);
    }

    /** The same; {@code inspector} sees the outputs of layers. */
    public double gradients(Tensor input, Tensor target, Pass.Randomness randomness, Pass.Inspector inspector) {
        differentiate(input, target, randomness, inspector);
        adam.unscale();
        average(results.loss());
        return read(results.loss())[0];
    }

    /** Loss and gradients of the scaled loss; those are reduced on return. */
    private void differentiate(Tensor input, Tensor target, Pass.Randomness randomness, Pass.Inspector inspector) {
        TensorOps ops = device.ops();
        ops.fill(parameters.gradients(), 0);
        Pass pass = new Pass(ops, compute, memory.kept(), memory.scratch(), randomness, sync::ready)
            .inspectedBy(inspector);
        try (ProfilerRanges.Range _ = device.ranges().open("forward")) {
            model.forward(prediction, input, pass);
            ops.relativeL2Loss(results.loss(), results.norms(), prediction, target);
        }
        ops.relativeL2LossBackward(prediction, prediction, target, results.norms(), adam.lossScale());
        model.backward(prediction, input, pass);
        pass.finish();
        sync.await();
    }

    /** What training steps change. */
    public ModelState state() {
        return new ModelState(device, parameters, adam);
    }

    /** How the training steps so far have gone. */
    public Adam.Progress progress() {
        return adam.progress();
    }

    /** Predicts; {@code inspector} sees the outputs of layers. */
    public void forward(Tensor input, Pass.Randomness randomness, Pass.Inspector inspector) {
        Pass pass = new Pass(device.ops(), compute, memory.kept(), memory.scratch(), randomness, unused -> { })
            .inspectedBy(inspector);
        model.forward(prediction, input, pass);
        pass.discard();
    }

    /** Predicts without dropout and scores against the target. */
    public Evaluation evaluate(Tensor input, Tensor target) {
        return evaluate(input, target, RunSignal.NOTHING);
    }

    /** The same with a wish of this rank. */
    public Evaluation evaluate(Tensor input, Tensor target, RunSignal wish) {
        tell(wish);
        Work wishes = hearWishes();
        forward(input, new Pass.None(), Pass.Inspector.NONE);
        device.ops().relativeL2Loss(results.loss(), results.norms(), prediction, target);
        device.ops().weightedRmse(results.rmse(), prediction, target);
        average(results.rmseAndLoss());
        wishes.await();
        double[] values = read(results.all());
        return new Evaluation(BatchLoss.of(Arrays.copyOfRange(values, results.channels(), values.length)),
            Arrays.copyOf(values, results.channels()));
    }

    /**
     * Latitude-weighted RMSE of each channel of the forecast that nothing changes: the channels of {@code input}
     * (B, Cin, H, W) that are predicted, the first. Overwrites {@link #prediction}.
     */
    public double[] scorePersistence(Tensor input, Tensor target) {
        for (long sample = 0; sample < input.shape().extent(0); sample++) {
            Tensor channels = input.slice(sample, 1).reshape(input.shape().extent(1), input.shape().extent(2),
                input.shape().extent(3));
            device.ops().copy(prediction.slice(sample, 1), channels.slice(0, prediction.shape().extent(1)));
        }
        device.ops().weightedRmse(results.rmse(), prediction, target);
        average(results.rmse());
        return read(results.rmse());
    }

    /** The largest of the numbers that the replicas name, up to 2^53; all of them ask together. */
    public long largest(long number) {
        return consensus.largest(number, replicas);
    }

    /** Whether {@code mine} is true on any rank; all of them ask together. */
    public boolean isTrueAnywhere(boolean mine) {
        return largestAnywhere(mine ? 1 : 0) > 0;
    }

    /** The largest of the numbers that all ranks name, up to 2^53; all of them ask together. */
    public long largestAnywhere(long number) {
        return consensus.largest(number, all);
    }

    private void tell(RunSignal wish) {
        device.upload(results.wish(), MemorySegment.ofArray(new double[] {wish.number()}));
    }

    /** Begins to: it is on its way while the ranks compute. */
    private Work hearWishes() {
        return all.allReduce(results.wish(), Reduction.MAX);
    }

    /** Sets scores to their mean over the replicas, each of which has scored its own samples. */
    private void average(Tensor scores) {
        replicas.allReduce(scores, Reduction.AVERAGE).await();
    }

    private double[] read(Tensor tensor) {
        return device.read(tensor).await();
    }

    /** Frees the captured graphs. The replica owns nothing else. */
    @Override
    public void close() {
        steps.close();
    }

    /** The tree of the model's modules. */
    @Override
    public String toString() {
        return model.toString();
    }
}
