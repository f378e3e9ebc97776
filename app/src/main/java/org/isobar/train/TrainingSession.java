package org.isobar.train;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

import org.isobar.checkpoint.Checkpoint;
import org.isobar.checkpoint.CheckpointDirectory;
import org.isobar.checkpoint.CheckpointWriter;
import org.isobar.config.RunConfig;
import org.isobar.data.InputDescription;
import org.isobar.device.Device;
import org.isobar.distributed.Axis;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.RankMessages;
import org.isobar.fault.UserException;
import org.isobar.os.HostMachine;
import org.isobar.os.ShellWords;
import org.isobar.pretrained.ModelConfig;
import org.isobar.pretrained.ModelDirectory;
import org.isobar.telemetry.MetricsFile;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.TensorBoardWriter;
import org.isobar.telemetry.TutorialLines;
import org.isobar.train.input.DemoData;
import org.isobar.train.memory.RunMemory;
import org.isobar.train.metrics.RunDescription;
import org.isobar.train.metrics.RunMetrics;
import org.isobar.train.saving.AsyncCheckpointWriter;
import org.isobar.train.saving.CheckpointSaver;
import org.isobar.train.saving.Resumption;
import org.isobar.train.saving.RunDirectory;
import org.isobar.train.saving.RunStart;
import org.isobar.train.saving.Snapshot;
import org.isobar.train.saving.WeightsFile;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.PhaseClock;
import org.isobar.train.step.Replica;
import org.isobar.train.step.StepLaunch;
import org.isobar.train.step.StepOptions;
import org.isobar.train.step.ValidationScores;
import org.isobar.train.trace.TraceWindow;

/** The training of one rank with opened device, memory and data: creates or restores the model, trains it, saves it. */
final class TrainingSession {
    private static final String SALVAGED = "weights saved";

    private final RunConfig config;
    private final RunContext context;
    private final RunLog log;
    private final RunStart start;
    private final LoaderPair data;
    private final PhaseClock clock;
    private final TraceWindow trace;
    private final Path directory;
    private final int rank;

    TrainingSession(RunConfig config, RunContext context, RunLog log, RunStart start, LoaderPair data,
        PhaseClock clock, TraceWindow trace) {
        this.trace = trace;
        this.config = config;
        this.context = context;
        this.log = log;
        this.start = start;
        this.data = data;
        this.clock = clock;
        directory = config.output().experimentDirectory();
        rank = config.ranks().rank();
    }

    /** Trains; returns the exit code. */
    int run(Device device, RunMemory memory, Communicators communicators) {
        ChannelTags tags = tags(); // refuses names and coordinates that no model can have
        try (Replica replica = new Replica(device, config.model(), config.training().localBatchSize(), memory.take(),
            communicators, options(device), clock)) {
            WeightsFile weights = new WeightsFile(replica.model().parameters(), device, communicators);
            begin(replica, weights);
            if (!replica.consensus().agreeOn(replica.model().parameters())) {
                throw new IllegalStateException("ranks that share weights have different initial weights");
            }
            log.info(replica.model().toString());
            log.info(TutorialLines.scaffoldingMemory(device.memory().highWatermark()));
            try (TensorBoardWriter board = board();
                RunMetrics metrics = new RunMetrics(metricsFile(), clock, scale());
                CheckpointSaver saves = saves(replica, communicators)) {
                RunReport report = new RunReport(context.screen(), log, Optional.ofNullable(board), metrics, directory,
                    config.training().globalBatchSize(), tags);
                metrics.runBegins(start.resumption().map(Resumption::iteration).orElse(0L),
                    RunDescription.of(config, start.resumption(), device, memory.plan()));
                report.expects(rank == 0 ? context.expectation().of(config, device) : Optional.empty());
                return train(new Trainer(config, replica, data, report, saves, start.resumption(), trace), weights,
                    report, replica, communicators.messages());
            }
        }
    }

    private void begin(Replica replica, WeightsFile weights) {
        if (start.resumption().isPresent()) {
            Resumption from = start.resumption().get();
            try (Checkpoint checkpoint = Checkpoint.openChecked(from.path())) {
                replica.step().state().restore(checkpoint, from.state().control());
            }
            log.info("Resuming after iteration %d from %s".formatted(from.iteration(), from.path()));
        } else {
            replica.model().initialize(config.training().seed());
            config.training().initWeights().ifPresent(weights::load);
        }
        if (rank == 0) {
            RunDirectory.writeConfiguration(config);
        }
    }

    /** The TensorBoard writer of rank 0; null on other ranks. */
    private TensorBoardWriter board() {
        if (rank > 0) {
            return null;
        }
        Path events = directory.resolve("logs");
        return start.resumption().flatMap(Resumption::own)
            .map(written -> TensorBoardWriter.resume(events.resolve(written.board()), written.events()))
            .orElseGet(() -> TensorBoardWriter.open(events));
    }

    /** The file of metrics of rank 0. */
    private Optional<MetricsFile> metricsFile() {
        return rank > 0 ? Optional.empty() : Optional.of(start.resumption()
            .filter(from -> from.own().isPresent())
            .map(from -> MetricsFile.resume(directory, from.iteration()))
            .orElseGet(() -> MetricsFile.append(directory)));
    }

    private RunMetrics.Scale scale() {
        return new RunMetrics.Scale(config.training().globalBatchSize(), data.training().steps(),
            data.epochs(config.training().numIters()));
    }

    /** Saves checkpoints unless they are disabled. Replicas that train independently have no common weights to save. */
    private CheckpointSaver saves(Replica replica, Communicators communicators) {
        Path folder = Resumption.folder(directory);
        if (rank == 0) {
            long from = start.resumption().filter(checkpoint -> checkpoint.origin() == Resumption.Origin.OWN)
                .map(Resumption::iteration).orElse(-1L);
            for (Path earlier : new Path[] {folder, AsyncCheckpointWriter.replayDirectory(folder)}) {
                CheckpointDirectory.setAside(earlier, from).ifPresent(aside ->
                    log.info("Earlier checkpoints of later iterations were moved to " + aside));
            }
        }
        if (!config.savesCheckpoints()) {
            log.info("No checkpoints: " + (config.trainsReplicasIndependently() ? "--noddp" : "keep is 0"));
            return CheckpointSaver.NONE;
        }
        Snapshot snapshot = new Snapshot(replica.model().device(), replica.step().state().share(config.grid(), rank),
            replica.step().state().bytes());
        CheckpointWriter writer = new CheckpointWriter(folder, start.run(), rank, communicators.messages(),
            AsyncCheckpointWriter.TIMEOUT);
        return new AsyncCheckpointWriter(config, log, writer, snapshot, context.stopRequest(),
            communicators::requireSound);
    }

    private int train(Trainer trainer, WeightsFile weights, RunReport report, Replica replica, RankMessages messages) {
        Path file = directory.resolve(ModelDirectory.WEIGHTS);
        switch (trainer.run()) {
            case TrainingOutcome.Finished finished -> {
                saveModel(weights);
                finished.unsaved().ifPresent(_ ->
                    log.warn("The last checkpoint is missing: the trained weights alone are in " + file));
                conclude(finished.scores(), file, report, replica);
                return 0;
            }
            case TrainingOutcome.Interrupted interrupted -> {
                log.info("Interrupted after iteration %d, which is saved; go on with --resume=auto"
                    .formatted(interrupted.iteration()));
                return RunContext.INTERRUPTED;
            }
            case TrainingOutcome.Lost lost -> {
                log.error("Interrupted: " + lost.reason());
                return 1;
            }
            case TrainingOutcome.Unsaved unsaved -> {
                log.error("Interrupted: the steps since the last checkpoint are lost: " + unsaved.reason()
                    + salvaged(weights, file, messages));
                return 1;
            }
        }
    }

    /** Writes the weights, and beside them what makes the run's directory a model that others can load. */
    private void saveModel(WeightsFile weights) {
        if (rank == 0) {
            ModelDirectory.begin(directory, "--expdir");
        }
        weights.save(directory.resolve(ModelDirectory.WEIGHTS));
        if (rank == 0) {
            InputDescription inputs = data.inputs();
            ModelDirectory.complete(directory, modelConfig(), inputs.normalization(), inputs.extra(),
                "--expdir");
        }
    }

    /**
     * Saves the weights alone, which need a third of a checkpoint's room; returns the end of a sentence about it. All
     * ranks return only when rank 0 has ended this, because launchers kill rank 0 soon after another rank has failed.
     */
    private String salvaged(WeightsFile weights, Path file, RankMessages messages) {
        try {
            saveModel(weights);
            return "; the trained weights alone are in " + file;
        } catch (UserException failure) {
            return "; and " + failure.getMessage();
        } finally {
            awaitRankZero(messages);
        }
    }

    /** Returns when rank 0 has called this. It is no collective: if rank 0 fails, others may wait in collectives. */
    private void awaitRankZero(RankMessages messages) {
        if (rank == 0) {
            messages.announce(SALVAGED, new byte[0]);
            return;
        }
        try {
            messages.await(SALVAGED, config.parallel().limits().stall());
        } catch (CommunicationException _) { // rank 0 has failed; this rank ends anyway, and logs its own reason
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    /** The options of a step. A trace has each operation, so its steps are not launched as graphs. */
    private StepOptions options(Device device) {
        StepOptions options = StepOptions.of(config.training(), device, gradientSync());
        if (trace.isOpen() && options.launch() == StepLaunch.GRAPH) {
            log.info("--trace: steps are issued operation by operation, not as graphs");
            return options.with(StepLaunch.EAGER);
        }
        return options;
    }

    private GradientSync.Options gradientSync() {
        if (config.trainsReplicasIndependently()) {
            log.info("--noddp: the %d data-parallel replicas train independently, their gradients are not reduced"
                .formatted(config.grid().size(Axis.DP)));
        }
        return gradientOptions(config);
    }

    /** How a run with this configuration reduces gradients. */
    static GradientSync.Options gradientOptions(RunConfig config) {
        return new GradientSync.Options(config.parallel().bucketCapMb(),
            config.trainsReplicasIndependently() ? GradientSync.Replicas.APART : GradientSync.Replicas.TOGETHER);
    }

    private ChannelTags tags() {
        return ChannelTags.of(config.data().channels(), modelConfig().forecastNames());
    }

    private ModelConfig modelConfig() {
        return ModelConfig.of(config, data.inputs());
    }

    private void conclude(ValidationScores scores, Path weights, RunReport report, Replica replica) {
        log.info("Memory at the end: anonymous %s GB, mapped file pages %s GB.".formatted(
            TutorialLines.gigabytes(HostMachine.anonymousMemory()),
            TutorialLines.gigabytes(HostMachine.mappedFilePages())));
        if (scores.persistence() != null) {
            ChannelTags tags = tags();
            for (int channel : tags.scored()) {
                double score = scores.rmse()[channel];
                double persistence = scores.persistence()[channel];
                String floor = DemoData.noiseFloor(config, channel).stream()
                    .mapToObj(value -> String.format(Locale.ROOT, ", noise floor %.4f", value)).findAny().orElse("");
                log.info(String.format(Locale.ROOT, "%s: model %.4f, persistence %.4f, ratio %.3f%s",
                    tags.rmse(channel), score, persistence, score / persistence, floor));
            }
        }
        config.training().finalRollout().ifPresent(steps -> log.info(
            FinalRollOut.line(FinalRollOut.scores(config, replica, data, steps), data.inputs().normalization(),
            modelConfig(), steps)));
        log.info("Weights: " + weights);
        log.info("Picture: " + report.picture());
        log.info("TensorBoard: " + ShellWords.join(
            List.of("tensorboard", "--logdir", directory.resolve("logs").toString())));
        report.page();
        report.comparesSpeed();
        log.info(TutorialLines.done(rank));
    }
}
