package org.isobar.train.step;

import java.util.function.Supplier;

import org.isobar.device.Device;
import org.isobar.device.ProfilerRanges;
import org.isobar.device.Readback;
import org.isobar.device.ops.IndexSpan;
import org.isobar.device.ops.TensorOps;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.model.Loss;
import org.isobar.nn.Pass;
import org.isobar.optim.Adam;
import org.isobar.tensor.Tensor;
import org.isobar.train.step.PhaseClock.Phase;

/**
 * One training step: computes the gradients of the loss of this rank's samples, reduces them over the ranks that share
 * a weight, and updates the weights. A step may have several micro-batches (gradient accumulation): each rank sums its
 * gradients over them, and the backward pass of the last one reduces the sums.
 */
public final class TrainStep implements AutoCloseable {
    private final DeviceModel model;
    private final Device device;
    private final Loss loss;
    private final Adam adam;
    private final GradientSync sync;
    private final Communicator dataParallel;
    private final ScoreTensors scores;
    private final StepLauncher launcher;
    private final int microBatches;
    private final Supplier<Work> overlapped;
    private final PhaseClock clock;

    /**
     * The values that differ between training steps.
     *
     * @param seed         seed of the run
     * @param step         number of steps of the run before this one
     * @param microBatch   number of the micro-batch in the step, from 0
     * @param samples      range of the micro-batch's samples in the global batch
     * @param learningRate learning rate of this step
     */
    public record Context(long seed, long step, int microBatch, IndexSpan samples, double learningRate) {
        /** Values of a step of one batch. */
        public Context(long seed, long step, IndexSpan samples, double learningRate) {
            this(seed, step, 0, samples, learningRate);
        }
    }

    /**
     * Creates the training step of a model.
     *
     * @param dataParallel the ranks that have the same weights and different samples
     * @param microBatches number of batches of a step
     * @param overlapped   issues a collective that overlaps the computation of each step
     * @param clock        times the phases of each step
     */
    TrainStep(DeviceModel model, Adam adam, GradientSync sync, Communicator dataParallel, ScoreTensors scores,
        StepLauncher launcher, int microBatches, Supplier<Work> overlapped, PhaseClock clock) {
        this.model = model;
        this.adam = adam;
        this.sync = sync;
        this.dataParallel = dataParallel;
        this.scores = scores;
        this.launcher = launcher;
        this.microBatches = microBatches;
        this.overlapped = overlapped;
        this.clock = clock;
        device = model.device();
        loss = model.model().loss();
    }

    /**
     * Issues a micro-batch that is not the last of its step: adds its gradients to those of the micro-batches before.
     * Returns without waiting for the device.
     *
     * @param input  normalized images (B, Cin, H, W)
     * @param target normalized images (B, Cout, H, W)
     */
    public void accumulate(Tensor input, Tensor target, Context context) {
        launcher.run(input, target, context.microBatch(), false, () ->
            differentiate(input, target, context.microBatch(), masks(context), Pass.Inspector.NONE));
    }

    /**
     * Issues the last micro-batch of a training step and returns without waiting for the device. The returned supplier
     * waits for the step and returns the loss of the global batch before the update. Call the supplier once, before
     * many further steps are issued, because few reads can be pending ({@link Device#read}).
     *
     * @param input  normalized images (B, Cin, H, W)
     * @param target normalized images (B, Cout, H, W)
     */
    public Supplier<BatchLoss> issue(Tensor input, Tensor target, Context context) {
        adam.setLearningRate(context.learningRate());
        launcher.run(input, target, context.microBatch(), true, () -> finish(input, target, context));
        Readback result = device.read(scores.lossAndTerms());
        return () -> BatchLoss.of(result.await());
    }

    /** Issues one training step of one batch and waits for its loss; see {@link #issue}. */
    public double run(Tensor input, Tensor target, Context context) {
        return issue(input, target, context).get().mean();
    }

    /**
     * Issues the operations of a step's last micro-batch. A CUDA graph can capture them: apart from dropout masks, no
     * value that differs between steps is a launch argument.
     *
     * <p>The optimizer skips the update depending on the loss, so all ranks must have the same bits of the loss. The
     * ranks of one replica do: collectives over tp and cp give each rank the same bits, and each rank computes the loss
     * of the whole image. Data-parallel ranks get the same bits from the average.
     */
    private void finish(Tensor input, Tensor target, Context context) {
        Work collective = overlapped.get();
        differentiate(input, target, context.microBatch(), masks(context), Pass.Inspector.NONE);
        averageLoss();
        update();
        collective.await();
    }

    private static Pass.Masks masks(Context context) {
        return new Pass.Masks(context.seed(), context.step(), context.samples());
    }

    /**
     * Computes the loss and the gradients of the scaled loss up to a micro-batch. After the last one, gradients are
     * reduced over the ranks that share each weight.
     */
    private void differentiate(Tensor input, Tensor target, int microBatch, Pass.Randomness randomness,
        Pass.Inspector inspector) {
        TensorOps ops = device.ops();
        if (microBatch == 0) {
            ops.memory().fill(model.parameters().gradients(), 0);
        }
        boolean last = microBatch == microBatches - 1;
        Tensor prediction = model.prediction();
        long first = microBatch * prediction.shape().extent(0);
        Pass pass = model.pass(randomness, inspector, last ? sync::ready : _ -> { });
        try (ProfilerRanges.Range _ = device.ranges().open("forward");
            ProfilerRanges.Range _ = clock.open(Phase.FORWARD)) {
            model.model().forward(prediction, input, pass);
            loss.forward(scores.loss(), scores.terms(), first, prediction, target, ops);
        }
        try (ProfilerRanges.Range _ = clock.open(Phase.BACKWARD)) {
            loss.backward(prediction, prediction, target, scores.terms(), first, adam.lossScale(), ops);
            model.model().backward(prediction, input, pass);
            pass.finish();
            if (last) {
                sync.await();
            }
        }
    }

    private void averageLoss() {
        dataParallel.allReduce(scores.loss(), Reduction.AVERAGE).await();
    }

    private void update() {
        try (ProfilerRanges.Range _ = device.ranges().open("optimizer");
            ProfilerRanges.Range _ = clock.open(Phase.OPTIMIZER)) {
            adam.unscale();
            adam.step(scores.loss());
        }
    }

    /** Computes the gradients of the loss of one global batch without an update; returns the loss. */
    public double gradients(Tensor input, Tensor target, Pass.Randomness randomness) {
        return gradients(input, target, randomness, Pass.Inspector.NONE);
    }

    /**
     * Computes the gradients of the loss of one global batch without an update; returns the loss. {@code inspector}
     * receives the output of every layer.
     */
    public double gradients(Tensor input, Tensor target, Pass.Randomness randomness, Pass.Inspector inspector) {
        assert microBatches == 1 : "gradients of one of " + microBatches + " micro-batches";
        differentiate(input, target, 0, randomness, inspector);
        adam.average();
        averageLoss();
        return device.read(scores.loss()).await()[0];
    }

    /** The tensors that training steps change. */
    public ModelState state() {
        return new ModelState(device, model.parameters(), adam);
    }

    /** The number of steps that updated the weights, and the number of skipped steps. */
    public Adam.Progress progress() {
        return adam.progress();
    }

    /** Frees captured graphs. */
    @Override
    public void close() {
        launcher.close();
    }
}
