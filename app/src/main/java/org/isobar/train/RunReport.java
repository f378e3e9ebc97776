package org.isobar.train;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

import org.isobar.device.Device;
import org.isobar.device.DeviceType;
import org.isobar.metrics.FieldPlot;
import org.isobar.optim.Adam;
import org.isobar.optim.LearningRateSchedule;
import org.isobar.os.AtomicFile;
import org.isobar.report.RunReportPage;
import org.isobar.telemetry.ProgressBar;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.Screen;
import org.isobar.telemetry.TensorBoardWriter;
import org.isobar.telemetry.TutorialLines;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;
import org.isobar.train.metrics.RunMetrics;
import org.isobar.train.saving.TrainingState;
import org.isobar.train.step.Evaluation;
import org.isobar.train.step.ValidationScores;

/** Writes the log lines, TensorBoard events, metrics and forecast pictures of a run. */
final class RunReport {
    private final Screen screen;
    private final RunLog log;
    private final Optional<TensorBoardWriter> board;
    private final RunMetrics metrics;
    private final int globalBatchSize;
    private final ChannelTags tags;
    private final Path picture;
    private final List<Double> speeds = new ArrayList<>(); // samples per second of each epoch
    private Optional<RunContext.Expectation.Expected> expected = Optional.empty();
    private final Optional<FieldPlot> plot; // like the board

    /**
     * Creates a report that writes the latest picture to {@code directory}.
     *
     * @param board present on rank 0 only; the other ranks write no events and no pictures
     */
    RunReport(Screen screen, RunLog log, Optional<TensorBoardWriter> board, RunMetrics metrics, Path directory,
        int globalBatchSize, ChannelTags tags) {
        this.metrics = metrics;
        this.tags = tags;
        this.globalBatchSize = globalBatchSize;
        this.screen = screen;
        this.log = log;
        this.board = board;
        plot = board.map(_ -> new FieldPlot());
        picture = directory.resolve("prediction.png");
    }

    /**
     * Duration of the steps of an epoch that this process has trained.
     *
     * @param steps   number of steps; 0 if the run has resumed after the last step of the epoch
     * @param seconds wall-clock time of these steps
     */
    record Pace(int steps, double seconds) { }

    /** Reports what is expected of the run; compares it with what comes in {@link #comparesSpeed}. */
    void expects(Optional<RunContext.Expectation.Expected> prediction) {
        expected = prediction;
        expected.ifPresent(line -> log.info(line.start()));
    }

    /** Reports the speed of the run beside the expected one, if there is one. */
    void comparesSpeed() {
        OptionalDouble speed = samplesPerSecond();
        if (expected.isPresent() && speed.isPresent()) {
            RunContext.Expectation.Outcome outcome = expected.get().end(speed.getAsDouble());
            if (outcome.warning()) {
                log.warn(outcome.line());
            } else {
                log.info(outcome.line());
            }
        }
    }

    /** Reports that training begins. */
    void trainingBegins() {
        log.info(TutorialLines.trainingStarts());
    }

    /** Reports the scores of the initial weights on one batch of each data set. */
    void scoredBeforeTraining(Evaluation training, Evaluation validation) {
        scalar("Loss/train", training.loss(), 0);
        scalar("Loss/valid", validation.loss(), 0);
        rmse(validation.rmse(), 0);
        metrics.scoredBeforeTraining(training.loss(), validation.loss(), named(validation.rmse()));
    }

    /** Reports that the steps of an epoch begin. */
    void epochBegins() {
        metrics.epochBegins();
    }

    /** Reports the loss of step {@code number} of the run, from 1. */
    void stepRead(RunMetrics.Step step) {
        if (Double.isFinite(step.loss())) {
            metrics.stepRead(step);
        } else {
            metrics.badStep(step);
        }
    }

    /** Reports that a checkpoint is saved after {@code step} steps. */
    void checkpoint(long step, LearningRateSchedule schedule) {
        metrics.checkpoint(step, schedule.at(Math.max(step - 1, 0)));
    }

    /**
     * Reports that a step was issued; after the second one of an epoch, when all memory of a step has been used, also
     * the device's memory.
     */
    void stepIssued(TrainingProgress progress, Device device) {
        if (device.type() == DeviceType.CPU) {
            metrics.stepEnds(progress.iterations());
        }
        if (progress.step() == 2) {
            log.info(TutorialLines.forwardMemory(device.memory().highWatermark()));
        }
    }

    /**
     * Reports the training steps of an epoch. The log always has the tutorial's line about its time, from which scripts
     * count epochs; a speed is reported otherwise only if this process has done a step.
     */
    void epochTrained(TrainingProgress progress, Pace pace, Adam.Progress optimizer, LearningRateSchedule schedule,
        Device device) {
        double stepsPerSecond = pace.steps() / pace.seconds();
        double samplesPerSecond = globalBatchSize * stepsPerSecond;
        double loss = progress.losses().mean();
        long step = progress.iterations();
        log.info(TutorialLines.epochTime(progress.epoch() + 1, pace.seconds(), samplesPerSecond));
        log.info(TutorialLines.trainLoss(loss));
        progress.skipped().epoch(optimizer).ifPresent(log::info);
        scalar("Loss/train", loss, step);
        scalar("Learning Rate", schedule.at(step), step);
        if (pace.steps() > 0) {
            speeds.add(samplesPerSecond);
            scalar("Avg iters per sec", stepsPerSecond, step);
            scalar("Avg samples per sec", samplesPerSecond, step);
        }
        metrics.epochTrained(new RunMetrics.Epoch(progress.epoch() + 1, loss, pace.steps(), pace.seconds(),
            schedule.at(step), optimizer, device.memory().highWatermark()));
    }

    /** The median of the epochs' samples per second, without the first if there are several. */
    private OptionalDouble samplesPerSecond() {
        double[] sorted = speeds.stream().skip(speeds.size() > 1 ? 1 : 0).mapToDouble(Double::doubleValue).sorted()
            .toArray();
        return sorted.length == 0 ? OptionalDouble.empty()
            : OptionalDouble.of((sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2);
    }

    /** Reports a validation after {@code step} steps of training. */
    void validated(ValidationScores scores, double seconds, long step) {
        log.info(TutorialLines.validationLoss((float) scores.loss()));
        log.info(TutorialLines.validationTime(seconds));
        scalar("Loss/valid", scores.loss(), step);
        rmse(scores.rmse(), step);
        flush();
        metrics.validated(step, scores, seconds, named(scores.rmse()));
    }

    /** Values of channels by the channels' names. */
    private Map<String, Double> named(double[] channels) {
        Map<String, Double> named = new LinkedHashMap<>();
        for (int channel = 0; channel < channels.length; channel++) {
            named.put(tags.names().get(channel), channels[channel]);
        }
        return named;
    }

    /**
     * Reports roll-outs after {@code step} steps of training.
     *
     * @param hours of a step of the model
     */
    void rolledOut(RollOutFields.Scores scores, int hours, long step) {
        Map<Integer, Map<String, Double>> byLead = new LinkedHashMap<>();
        for (int lead = 1; lead <= scores.model().length; lead++) {
            for (int channel = 0; channel < scores.model()[lead - 1].length; channel++) {
                scalar(tags.rmse(channel) + "_" + lead * hours + "h", scores.model()[lead - 1][channel], step);
            }
            byLead.put(lead * hours, named(scores.model()[lead - 1]));
        }
        flush();
        metrics.rolledOut(step, byLead);
    }

    /** Reports the end of training. */
    void trainingEnds(TrainingProgress progress) {
        progress.skipped().total().ifPresent(log::info);
    }

    /** Reports how the run of this process ends. */
    void runEnds(long step, String outcome) {
        metrics.runEnds(step, outcome);
    }

    /** Writes the page about the run, on rank 0; a failure is only a warning. */
    void page() {
        if (board.isEmpty()) {
            return;
        }
        Path page = picture.resolveSibling(RunReportPage.NAME);
        try {
            RunReportPage.of(List.of(page.getParent())).write(page, "--expdir");
            log.info("Report: " + page);
        } catch (RuntimeException failure) {
            log.warn("The report " + page + " was not written: " + failure.getMessage());
        }
    }

    /** Logs a warning. */
    void warn(String line) {
        log.warn(line);
    }

    private void rmse(double[] channels, long step) {
        for (int channel = 0; channel < channels.length; channel++) {
            scalar(tags.rmse(channel), channels[channel], step);
        }
    }

    /** Writes a scalar to TensorBoard. */
    private void scalar(String tag, double value, long step) {
        board.ifPresent(writer -> writer.scalar(tag, value, step));
    }

    /** Flushes TensorBoard's events to the disk. */
    private void flush() {
        board.ifPresent(TensorBoardWriter::flush);
    }

    /** Sizes of the log and of the event file so far, for a checkpoint; null on ranks other than 0. */
    TrainingState.Written written() {
        return board.map(events -> new TrainingState.Written(log.bytes(), events.file().getFileName().toString(),
            events.bytes())).orElse(null);
    }

    /** Path of the latest picture. */
    Path picture() {
        return picture;
    }

    /** Creates a progress bar; it is invisible if the output is not a terminal. */
    ProgressBar progress(ProgressBar.Plan plan) {
        return new ProgressBar(screen, plan);
    }

    /** Writes a picture of a channel of a batch's first sample, target beside prediction, to TensorBoard and a file. */
    void figure(Device device, Tensor target, Tensor prediction, long step) {
        if (board.isEmpty()) {
            return;
        }
        int height = Math.toIntExact(target.shape().extent(2));
        int width = Math.toIntExact(target.shape().extent(3));
        byte[] png = plot.orElseThrow().png(tags.heading(), field(device, target), field(device, prediction), height,
            width);
        board.get().image(tags.pictures(), png, FieldPlot.HEIGHT, FieldPlot.WIDTH, step);
        new AtomicFile("picture", picture, "--expdir").write(png);
    }

    /** The pictured channel of the first sample of images (B, C, H, W). */
    private float[] field(Device device, Tensor images) {
        Shape shape = images.shape();
        long pixels = shape.extent(2) * shape.extent(3);
        float[] values = new float[Math.toIntExact(pixels)];
        device.download(MemorySegment.ofArray(values),
            images.reshape(shape.extent(0) * shape.extent(1), pixels).slice(tags.picture(), 1));
        return values;
    }
}
