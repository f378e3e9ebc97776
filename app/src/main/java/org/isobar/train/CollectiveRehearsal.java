package org.isobar.train;

import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Optional;

import org.isobar.backend.dryrun.DryRunCommunicator;
import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.config.RunConfig;
import org.isobar.data.Batch;
import org.isobar.device.DeviceArena;
import org.isobar.device.ops.StepControl;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.RecordingCommunicator;
import org.isobar.fault.UserException;
import org.isobar.nn.ParameterStore;
import org.isobar.optim.Adam;
import org.isobar.optim.GradScaler;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.Screen;
import org.isobar.tensor.DType;
import org.isobar.train.collectives.GradientCover;
import org.isobar.train.collectives.RankTrace;
import org.isobar.train.collectives.TraceRecorder;
import org.isobar.train.metrics.RunMetrics;
import org.isobar.train.saving.CheckpointSaver;
import org.isobar.train.saving.Resumption;
import org.isobar.train.saving.RunStart;
import org.isobar.train.saving.TrainingState;
import org.isobar.train.saving.WeightsFile;
import org.isobar.train.step.Replica;
import org.isobar.train.step.StepMemory;
import org.isobar.train.step.StepOptions;
import org.isobar.train.trace.TraceWindow;

/**
 * Runs the training loop of one rank on a device that computes nothing, and records its collectives. It executes the
 * code of training, from the agreement on the start to the gathering of the trained weights; only data, checkpoint
 * files and peers are missing.
 */
final class CollectiveRehearsal implements AutoCloseable {
    /** Beginning of the phases that are training steps. */
    static final String STEP = "step ";
    private static final int ROLL_OUT = 2; // steps of the longest
    private static final long UNBOUNDED = Long.MAX_VALUE / 4;
    private static final double[] CONTROL = new double[StepControl.SIZE];

    private final RunConfig config;
    private final DType compute;
    private final Length length;
    private final TraceRecorder.SharedCalls calls = new TraceRecorder.SharedCalls();
    private final Screen screen = Screen.plain(OutputStream.nullOutputStream());
    private final RunLog log = new RunLog(screen, RunLog.Verbosity.ERRORS);

    /**
     * Numbers of epochs, of validation batches, and of batches of roll-outs at most. An epoch has
     * {@link DryScenario#STEPS} training steps.
     */
    record Length(int epochs, int validations, int rollOuts) {
        /** Two epochs, of which the last also scores persistence. */
        static final Length DEFAULT = new Length(2, 2, 2);
    }

    /** A rank's trace, and how its gradients are to be reduced. */
    record Recorded(RankTrace trace, GradientCover cover) { }

    /**
     * Rehearses runs of a configuration.
     *
     * @param compute type of matrix products
     */
    CollectiveRehearsal(RunConfig config, DType compute, Length length) {
        this.config = config;
        this.compute = compute;
        this.length = length;
    }

    /** Records what {@code rank} issues if an event happens. */
    Recorded record(int rank, DryScenario.Event event, DryScenario.Cause cause) {
        RunConfig own = config.as(rank, config.training().shortened(length.epochs() * DryScenario.STEPS, ROLL_OUT));
        TraceRecorder recorder = new TraceRecorder(calls);
        DryScenario scenario = new DryScenario(event, cause,
            1 + 2 * own.training().localBatchSize() * own.training().microBatches(),
            () -> recorder.phase("loss that is not finite"));
        try (DryRunDevice device = new DryRunDevice(scenario);
            StepMemory memory = new StepMemory(device.arena("state", UNBOUNDED), device.arena("activations", UNBOUNDED),
                device.arena("scratch", UNBOUNDED));
            Communicators communicators = new Communicators(own.grid(), rank, device.ops().memory()::copy,
                group -> new RecordingCommunicator(new DryRunCommunicator(group), recorder))) {
            RunStart.agreed(Optional.empty(), own, device, communicators);
            RunStart.meet(own, communicators);
            try (Replica replica = new Replica(device, own.model(), own.training().localBatchSize(), memory,
                communicators, options(own, device))) {
                agree(replica, device);
                train(own, replica, event, scenario, recorder, communicators);
                ParameterStore parameters = replica.model().parameters();
                return new Recorded(recorder.trace(), new GradientCover(own.grid(), parameters.gradients(),
                    parameters.ranges(), own.trainsReplicasIndependently()));
            }
        }
    }

    private StepOptions options(RunConfig own, DryRunDevice device) {
        StepOptions configured =
            StepOptions.of(own.training(), device, TrainingSession.gradientOptions(own));
        Adam.Options adam = new Adam.Options(GradScaler.of(compute), configured.adam().launch(),
            configured.adam().nonFinite());
        return new StepOptions(compute, adam, configured.sync(), configured.launch(), configured.microBatches());
    }

    /** Compares the checksums of one number instead of all weights, which takes the same collectives. */
    private static void agree(Replica replica, DryRunDevice device) {
        try (DeviceArena arena = device.arena("weights", UNBOUNDED)) {
            ParameterStore one = new ParameterStore();
            one.bind(arena.f32(1), arena.f32(1));
            replica.consensus().agreeOn(one);
        }
    }

    private void train(RunConfig own, Replica replica, DryScenario.Event event, DryScenario scenario,
        TraceRecorder recorder, Communicators communicators) {
        CheckpointSaver saver = own.savesCheckpoints()
            ? new DrySaver(scenario, own.checkpoint(), recorder::phase) : CheckpointSaver.NONE;
        RunReport report = new RunReport(screen, log, Optional.empty(), RunMetrics.none(), Path.of(""),
            own.training().globalBatchSize(),
            ChannelTags.of(own.data().channels(), Collections.nCopies(own.model().outChannels(), "")));
        Optional<Resumption> resumption = resumption(event);
        LoaderPair data = batches(own, replica, recorder, scenario, resumption.isEmpty());
        Trainer trainer = new Trainer(own, replica, data, report, saver, resumption, TraceWindow.none());
        try {
            if (trainer.run() instanceof TrainingOutcome.Finished) {
                recorder.phase("weights");
                new WeightsFile(replica.model().parameters(), replica.model().device(), communicators).giveSlices();
                own.training().finalRollout().ifPresent(steps -> FinalRollOut.scores(own, replica, data, steps));
            }
        } catch (UserException nonFinite) {
            if (event != DryScenario.Event.NON_FINITE) {
                throw nonFinite;
            }
        }
    }

    /** Batches that name the phases; the first training batch of a new run is only scored. */
    private LoaderPair batches(RunConfig own, Replica replica, TraceRecorder recorder, DryScenario scenario,
        boolean scores) {
        Batch batch = Batch.unread(replica.model().device(), own.trainingData(),
            own.training().localBatchSize());
        int[] step = {scores ? 0 : 1};
        return new LoaderPair(
            new DryBatches(batch, DryScenario.STEPS, own.training().microBatches(), _ -> {
                int number = step[0]++;
                scenario.training(number > 0);
                recorder.phase(number == 0 ? "scores before training" : STEP + number);
            }),
            new DryBatches(batch, length.validations(), 1, _ -> {
                scenario.training(false);
                recorder.phase("validation");
            }), "", null,
            rollOuts(own, recorder));
    }

    private RollOutFields.Source rollOuts(RunConfig own, TraceRecorder recorder) {
        return (_, most) -> {
            recorder.phase("roll-outs");
            int starts = Math.min(most, length.rollOuts() * own.training().localBatchSize());
            return RollOutYears.forecastsAll(own) ? Optional.of(new DryRollOuts(starts)) : Optional.empty();
        };
    }

    /** The run resumes after its first step. */
    private static Optional<Resumption> resumption(DryScenario.Event event) {
        TrainingState state = new TrainingState(0, 1, 1, 1, 0, CONTROL, new Adam.Progress(0, 0, 1), null, null,
            new TrainingState.Written(0, "", 0), "", TrainingState.OWN_KERNELS,
            TrainingState.OWN_KERNELS);
        return switch (event) {
            case RESUMED -> Optional.of(new Resumption(Path.of(""), 1, state, Resumption.Origin.OWN));
            case BRANCHED -> Optional.of(new Resumption(Path.of(""), 1, state, Resumption.Origin.FOREIGN));
            default -> Optional.empty();
        };
    }

    @Override
    public void close() {
        log.close();
    }
}
