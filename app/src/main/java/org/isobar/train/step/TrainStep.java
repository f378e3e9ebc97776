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

/**
 * One training step: computes the gradients of the loss of this rank's samples, reduces them over the ranks that share
 * a weight, and updates the weights.
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
    private final Supplier<Work> overlapped;

    /**
     * The values that differ between training steps.
     *
     * @param seed         seed of the run
     * @param step         number of steps of the run before this one
     * @param samples      range of this rank's samples in the global batch
     * @param learningRate learning rate of this step
     */
    public record Context(long seed, long step, IndexSpan samples, double learningRate) { }

    /**
     * Creates the training step of a model.
     *
     * @param dataParallel the ranks that have the same weights and different samples
     * @param overlapped   issues a collective that overlaps the computation of each step
     */
    TrainStep(DeviceModel model, Adam adam, GradientSync sync, Communicator dataParallel, ScoreTensors scores,
        StepLauncher launcher, Supplier<Work> overlapped) {
        this.model = model;
        this.adam = adam;
        this.sync = sync;
        this.dataParallel = dataParallel;
        this.scores = scores;
        this.launcher = launcher;
        this.overlapped = overlapped;
        device = model.device();
        loss = model.model().loss();
    }

    /**
     * Issues one training step on this rank's samples of a global batch and returns without waiting for the device.
     * The returned supplier waits for the step and returns the loss of the global batch before the update. Call the
     * supplier once, before many further steps are issued, because few reads can be pending ({@link Device#read}).
     *
     * @param input  normalized images (B, Cin, H, W)
     * @param target normalized images (B, Cout, H, W)
     */
    public Supplier<BatchLoss> issue(Tensor input, Tensor target, Context context) {
        adam.setLearningRate(context.learningRate());
        launcher.run(input, target, () -> step(input, target, context));
        Readback result = device.read(scores.lossAndTerms());
        return () -> BatchLoss.of(result.await());
    }

    /** Issues one training step and waits for its loss; see {@link #issue}. */
    public double run(Tensor input, Tensor target, Context context) {
        return issue(input, target, context).get().mean();
    }

    /**
     * Issues the operations of a step. A CUDA graph can capture them: apart from dropout masks, no value that differs
     * between steps is a launch argument.
     *
     * <p>The optimizer skips the update depending on the loss, so all ranks must have the same bits of the loss. The
     * ranks of one replica do: collectives over tp and cp give each rank the same bits, and each rank computes the loss
     * of the whole image. Data-parallel ranks get the same bits from the average.
     */
    private void step(Tensor input, Tensor target, Context context) {
        Work collective = overlapped.get();
        differentiate(input, target, new Pass.Masks(context.seed(), context.step(), context.samples()),
            Pass.Inspector.NONE);
        averageLoss();
        update();
        collective.await();
    }

    /** Computes the loss and the gradients of the scaled loss, reduced over the ranks that share each weight. */
    private void differentiate(Tensor input, Tensor target, Pass.Randomness randomness, Pass.Inspector inspector) {
        TensorOps ops = device.ops();
        ops.memory().fill(model.parameters().gradients(), 0);
        Tensor prediction = model.prediction();
        Pass pass = model.pass(randomness, inspector, sync::ready);
        try (ProfilerRanges.Range _ = device.ranges().open("forward")) {
            model.model().forward(prediction, input, pass);
            loss.forward(scores.loss(), scores.terms(), prediction, target, ops);
        }
        loss.backward(prediction, prediction, target, scores.terms(), adam.lossScale(), ops);
        model.model().backward(prediction, input, pass);
        pass.finish();
        sync.await();
    }

    private void averageLoss() {
        dataParallel.allReduce(scores.loss(), Reduction.AVERAGE).await();
    }

    private void update() {
        try (ProfilerRanges.Range _ = device.ranges().open("optimizer")) {
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
        differentiate(input, target, randomness, inspector);
        adam.unscale();
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
