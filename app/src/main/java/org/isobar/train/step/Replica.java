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
 * One rank's part of a model in training: the model on its device, the training step, the evaluator, and the
 * agreement between ranks. Its tensors are allocated in {@link StepMemory}, whose state arena is then sealed.
 */
public final class Replica implements AutoCloseable {
    private final DeviceModel model;
    private final TrainStep step;
    private final Evaluator evaluator;
    private final RunSignals signals;
    private final Consensus consensus;
    private final PhaseClock clock;

    /** Creates a replica that computes in fp32. */
    public Replica(Device device, ModelSpec spec, int batch, StepMemory memory, Communicators communicators,
        GradientSync.Options sync) {
        this(device, spec, batch, memory, communicators, StepOptions.of(DType.F32, sync));
    }

    /**
     * Creates this rank's part of a model for micro-batches of {@code batch} samples. Its weights are undefined until
     * {@link DeviceModel#initialize}. The caller owns the memory and the communicators. After a failure, close the
     * communicators before the memory. Close a replica that launches graphs before both.
     */
    public Replica(Device device, ModelSpec spec, int batch, StepMemory memory, Communicators communicators,
        StepOptions options) {
        this(device, spec, batch, memory, communicators, options, new PhaseClock());
    }

    /** Creates a replica whose steps are timed by {@code clock}. */
    public Replica(Device device, ModelSpec spec, int batch, StepMemory memory, Communicators communicators,
        StepOptions options, PhaseClock clock) {
        this.clock = clock;
        DeviceArena state = memory.state();
        Communicator dataParallel = communicators.along(Axis.DP);
        model = new DeviceModel(device, spec, batch, memory, communicators, options.compute());
        ScoreTensors scores = ScoreTensors.in(state, spec.outChannels(),
            Math.multiplyExact(batch, options.microBatches()));
        GradientSync sync = new GradientSync(model.parameters(), communicators, options.sync());
        Adam adam = new Adam(device, model.parameters(), state, options.adam(), skipGroup(communicators, options),
            sync.replicas());
        signals = new RunSignals(device, communicators.along(Axis.values()), state.allocate(DType.F64, 1));
        consensus = new Consensus(device, communicators, state.allocate(DType.F64, 2));
        step = new TrainStep(model, adam, sync, dataParallel, scores, new StepLauncher(device, options.launch()),
            options.microBatches(), signals::exchange, clock);
        evaluator = new Evaluator(model, dataParallel, scores);
        state.seal();
    }

    /** The ranks that must skip the same steps; only this rank if no step is ever skipped. */
    private static Communicator skipGroup(Communicators communicators, StepOptions options) {
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

    /** The training step. */
    public TrainStep step() {
        return step;
    }

    /** The evaluator of the model. */
    public Evaluator evaluator() {
        return evaluator;
    }

    /** The agreement of all ranks on what to do after a step. */
    public RunSignals signals() {
        return signals;
    }

    /** The reductions by which ranks agree on a value. */
    public Consensus consensus() {
        return consensus;
    }

    /** Times the phases of the training steps. */
    public PhaseClock clock() {
        return clock;
    }

    /** Frees captured graphs. The caller frees memory and communicators. */
    @Override
    public void close() {
        step.close();
    }
}
