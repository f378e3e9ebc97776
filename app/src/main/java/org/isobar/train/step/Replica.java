package org.isobar.train.step;

import java.util.EnumSet;
import java.util.Set;

import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Communicators;
import org.isobar.model.ModelSpec;
import org.isobar.optim.Adam;
import org.isobar.tensor.DType;

/**
 * One rank's part of a model in training, put together: the model on its device, the training step, the evaluation,
 * and what the ranks agree on. Everything is made in {@link StepMemory}, which then takes no more.
 */
public final class Replica implements AutoCloseable {
    private final DeviceModel model;
    private final TrainStep step;
    private final Evaluator evaluator;
    private final RunSignals signals;
    private final Consensus consensus;

    /** A replica that computes in single precision. */
    public Replica(Device device, ModelSpec spec, int batch, StepMemory memory, Communicators communicators,
        GradientSync.Options sync) {
        this(device, spec, batch, memory, communicators, StepOptions.of(DType.F32, sync));
    }

    /**
     * This rank's part of a model for local batches of {@code batch} samples; its weights are undefined until
     * {@link DeviceModel#initialize}. Memory and communicators stay the caller's: after a failure, close the
     * communicators before the memory. Close a replica that launches graphs before both.
     */
    public Replica(Device device, ModelSpec spec, int batch, StepMemory memory, Communicators communicators,
        StepOptions options) {
        DeviceArena state = memory.state();
        Communicator dataParallel = communicators.along(Axis.DP);
        model = new DeviceModel(device, spec, batch, memory, communicators, options.compute());
        ScoreTensors scores = ScoreTensors.in(state, spec.outChannels(), batch);
        Adam adam = new Adam(device, model.parameters(), state, options.adam(), skippers(communicators, options));
        signals = new RunSignals(device, communicators.along(Axis.values()), state.allocate(DType.F64, 1));
        consensus = new Consensus(device, communicators, state.allocate(DType.F64, 2));
        step = new TrainStep(model, adam, new GradientSync(model.parameters(), communicators, options.sync()),
            dataParallel, scores, new StepLauncher(device, options.launch()), signals::exchange);
        evaluator = new Evaluator(model, dataParallel, scores);
        state.seal();
    }

    /** The ranks that must skip the same steps: this one alone if no step is ever skipped. */
    private static Communicator skippers(Communicators communicators, StepOptions options) {
        Set<Axis> axes = EnumSet.noneOf(Axis.class);
        if (options.adam().judgesGradients()) {
            axes = EnumSet.allOf(Axis.class);
            if (options.sync().replicas() == GradientSync.Replicas.APART) {
                axes.remove(Axis.DP);
            }
        }
        return communicators.along(axes);
    }

    /** The model on its device. */
    public DeviceModel model() {
        return model;
    }

    /** Its training step. */
    public TrainStep step() {
        return step;
    }

    /** Its scores on other batches. */
    public Evaluator evaluator() {
        return evaluator;
    }

    /** What all ranks do after a step. */
    public RunSignals signals() {
        return signals;
    }

    /** What the ranks find out by asking each other. */
    public Consensus consensus() {
        return consensus;
    }

    /** Frees captured graphs. Everything else is the caller's. */
    @Override
    public void close() {
        step.close();
    }
}
