package org.isobar.train;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Optional;

import org.isobar.device.Device;
import org.isobar.metrics.FieldPlot;
import org.isobar.optim.Adam;
import org.isobar.optim.LearningRateSchedule;
import org.isobar.os.AtomicFile;
import org.isobar.telemetry.ProgressBar;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.Screen;
import org.isobar.telemetry.TensorBoardWriter;
import org.isobar.telemetry.TutorialLines;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;
import org.isobar.train.saving.TrainingState;
import org.isobar.train.step.Evaluation;
import org.isobar.train.step.ValidationScores;

/** Writes what a run reports, event by event: log lines, TensorBoard events, the picture of a forecast. */
final class RunReport {
    private static final int FIGURE_CHANNEL = 2; // t2m

    private final Screen screen;
    private final RunLog log;
    private final Optional<TensorBoardWriter> board;
    private final int globalBatchSize;
    private final Path picture;
    private final FieldPlot plot = new FieldPlot();

    /**
     * A report that keeps the latest picture in {@code directory}.
     *
     * @param board present on rank 0 only; the other ranks write no events and no pictures
     */
    RunReport(Screen screen, RunLog log, Optional<TensorBoardWriter> board, Path directory, int globalBatchSize) {
        this.globalBatchSize = globalBatchSize;
        this.screen = screen;
        this.log = log;
        this.board = board;
        picture = directory.resolve("prediction.png");
    }

    /**
     * How fast this process trained an epoch, or what was left of it.
     *
     * @param steps   number of steps
     * @param seconds they took
     */
    record Pace(int steps, double seconds) { }

    /** Training begins. */
    void trainingBegins() {
        log.info(TutorialLines.trainingStarts());
    }

    /** One batch of each data set was scored with the initial weights. */
    void scoredBeforeTraining(Evaluation training, Evaluation validation) {
        scalar("Loss/train", training.loss(), 0);
        scalar("Loss/valid", validation.loss(), 0);
        scalar("RMSE(u10m)/valid", validation.rmse()[0], 0);
    }

    /** A step was issued: in the second of an epoch, all memory of a step has been used. */
    void stepIssued(TrainingProgress progress, Device device) {
        if (progress.step() == 2) {
            log.info(TutorialLines.forwardMemory(device.memory().highWatermark()));
        }
    }

    /** The steps of an epoch are done. */
    void epochTrained(TrainingProgress progress, Pace pace, Adam.Progress optimizer, LearningRateSchedule schedule) {
        double stepsPerSecond = pace.steps() / pace.seconds();
        double samplesPerSecond = globalBatchSize * stepsPerSecond;
        double loss = progress.losses().mean();
        long step = progress.iterations();
        log.info(TutorialLines.epochTime(progress.epoch() + 1, pace.seconds(), samplesPerSecond));
        log.info(TutorialLines.trainLoss(loss));
        progress.skipped().epoch(optimizer).ifPresent(log::info);
        scalar("Loss/train", loss, step);
        scalar("Learning Rate", schedule.at(step), step);
        scalar("Avg iters per sec", stepsPerSecond, step);
        scalar("Avg samples per sec", samplesPerSecond, step);
    }

    /** A validation after {@code step} steps of training is done. */
    void validated(ValidationScores scores, double seconds, long step) {
        log.info(TutorialLines.validationLoss((float) scores.loss()));
        log.info(TutorialLines.validationTime(seconds));
        scalar("Loss/valid", scores.loss(), step);
        scalar("RMSE(u10m)/valid", scores.rmse()[0], step);
        flush();
    }

    /** All epochs are done. */
    void trainingEnds(TrainingProgress progress) {
        progress.skipped().total().ifPresent(log::info);
    }

    /** A warning in the log. */
    void warn(String line) {
        log.warn(line);
    }

    /** A number at a step of TensorBoard. */
    private void scalar(String tag, double value, long step) {
        board.ifPresent(writer -> writer.scalar(tag, value, step));
    }

    /** Forces TensorBoard's events to the disk. */
    private void flush() {
        board.ifPresent(TensorBoardWriter::flush);
    }

    /** How much was written so far, for a checkpoint; null on other ranks than 0. */
    TrainingState.Written written() {
        return board.map(events -> new TrainingState.Written(log.bytes(), events.file().getFileName().toString(),
            events.bytes())).orElse(null);
    }

    /** Where the latest picture lies. */
    Path picture() {
        return picture;
    }

    /** A progress bar on the screen; invisible if the output is not a terminal. */
    ProgressBar progress(ProgressBar.Plan plan) {
        return new ProgressBar(screen, plan);
    }

    /** Target beside prediction of t2m of the first sample of a batch, to TensorBoard and to a file. */
    void figure(Device device, Tensor target, Tensor prediction, long step) {
        if (board.isEmpty()) {
            return;
        }
        int height = Math.toIntExact(target.shape().extent(2));
        int width = Math.toIntExact(target.shape().extent(3));
        byte[] png = plot.png("2m temperature", field(device, target), field(device, prediction), height, width);
        board.get().image("Visualization, t2m", png, FieldPlot.HEIGHT, FieldPlot.WIDTH, step);
        new AtomicFile("picture", picture, "--expdir").write(png);
    }

    /** One channel of the first sample of images (B, C, H, W): t2m, or the last where there are fewer. */
    private static float[] field(Device device, Tensor images) {
        Shape shape = images.shape();
        long pixels = shape.extent(2) * shape.extent(3);
        long channel = Math.min(FIGURE_CHANNEL, shape.extent(1) - 1);
        float[] values = new float[Math.toIntExact(pixels)];
        device.download(MemorySegment.ofArray(values),
            images.reshape(shape.extent(0) * shape.extent(1), pixels).slice(channel, 1));
        return values;
    }
}
