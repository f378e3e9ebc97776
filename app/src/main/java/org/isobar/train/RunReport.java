package org.isobar.train;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Optional;

import org.isobar.device.Device;
import org.isobar.metrics.FieldPlot;
import org.isobar.os.AtomicFile;
import org.isobar.telemetry.ProgressBar;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.Screen;
import org.isobar.telemetry.TensorBoardWriter;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;
import org.isobar.train.saving.TrainingState;

/** Everything that a run tells: log lines, TensorBoard events, the picture. */
final class RunReport {
    private static final int FIGURE_CHANNEL = 2; // t2m

    private final Screen screen;
    private final RunLog log;
    private final Optional<TensorBoardWriter> board;
    private final Path picture;
    private final FieldPlot plot = new FieldPlot();

    /**
     * A report that keeps the latest picture in {@code directory}.
     *
     * @param board absent on all ranks but one, which then tell nothing but their log
     */
    RunReport(Screen screen, RunLog log, Optional<TensorBoardWriter> board, Path directory) {
        this.screen = screen;
        this.log = log;
        this.board = board;
        picture = directory.resolve("prediction.png");
    }

    /** A line of the log. */
    void info(String line) {
        log.info(line);
    }

    /** A line of the log that says what is not as it should be. */
    void warn(String line) {
        log.warn(line);
    }

    /** A number at a step of TensorBoard. */
    void scalar(String tag, double value, long step) {
        board.ifPresent(writer -> writer.scalar(tag, value, step));
    }

    /** Forces TensorBoard's events to the disk. */
    void flush() {
        board.ifPresent(TensorBoardWriter::flush);
    }

    /** How much has been told so far. */
    TrainingState.Written written() {
        return board.map(events -> new TrainingState.Written(log.bytes(), events.file().getFileName().toString(),
            events.bytes())).orElse(null);
    }

    /** Where the latest picture lies. */
    Path picture() {
        return picture;
    }

    /** A progress bar on the screen, invisible where nobody watches. */
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
