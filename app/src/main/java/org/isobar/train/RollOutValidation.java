package org.isobar.train;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import org.isobar.config.RunConfig;
import org.isobar.data.CropWindow;
import org.isobar.data.Era5Frames;
import org.isobar.data.InputDescription;
import org.isobar.device.HostBuffer;
import org.isobar.nn.Pass;
import org.isobar.scores.AreaWeights;
import org.isobar.scores.FieldScores;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.train.step.Replica;

/**
 * Scores a model in training over several steps: it is rolled out from a few times of the validation years, evenly
 * spaced. Every replica computes all of them, so that nothing is reduced over ranks.
 */
final class RollOutValidation implements AutoCloseable {
    private final RunConfig config;
    private final Replica replica;
    private final InputDescription inputs;
    private final CropWindow window; // the variables, all of which the model forecasts
    private final double[] weights; // (H)
    private final Era5Frames frames;
    private final List<Start> starts;
    private final int batch;
    private final HostBuffer buffer; // (B, Cin, H, W)
    private final Arena arena = Arena.ofShared();
    private final MemorySegment initial; // (B, Cout, H, W)
    private final MemorySegment forecasts; // (B, Cout, H, W)
    private final MemorySegment truth; // (Cout, H, W)

    /**
     * Area-weighted RMSE in normalized units; NaN where a value is not finite.
     *
     * @param starts      number of forecasts
     * @param model       (steps, Cout)
     * @param persistence (steps, Cout)
     */
    record Scores(int starts, double[][] model, double[][] persistence) { }

    private record Start(int year, int frame) { }

    private RollOutValidation(RunConfig config, Replica replica, InputDescription inputs, Era5Frames frames,
        List<Start> starts) {
        this.config = config;
        this.replica = replica;
        this.inputs = inputs;
        this.frames = frames;
        this.starts = starts;
        window = frames.window();
        weights = AreaWeights.of(inputs.latitudes().orElseGet(() -> AreaWeights.tutorialLatitudes(window.height())));
        batch = config.training().localBatchSize();
        buffer = replica.model().device().hostBuffer(DType.F32, config.model().input(batch));
        initial = arena.allocate(batch * window.bytes(), Float.BYTES);
        forecasts = arena.allocate(batch * window.bytes(), Float.BYTES);
        truth = arena.allocate(window.bytes(), Float.BYTES);
    }

    /**
     * Opens the validation years; empty if no year is as long as the roll-out, or the model does not forecast all
     * variables that it reads.
     *
     * @param steps of each roll-out
     * @param count number of roll-outs, at most
     * @throws org.isobar.fault.UserException if the years cannot be read
     */
    static Optional<RollOutValidation> open(RunConfig config, Replica replica, InputDescription inputs, int steps,
        int count) {
        int variables = config.model().inChannels() - inputs.extra().count();
        if (config.model().outChannels() < variables) {
            return Optional.empty();
        }
        Era5Frames frames = Era5Frames.of(config.data().validPath(),
            new CropWindow(variables, config.model().height(), config.model().width()), config.data().hoursPerFrame(),
            config.data().channels().variables(), _ -> { }); // training has read them
        List<Start> starts = starts(frames, steps * config.data().dt(), count);
        if (starts.isEmpty()) {
            frames.close();
            return Optional.empty();
        }
        return Optional.of(new RollOutValidation(config, replica, inputs, frames, starts));
    }

    private static List<Start> starts(Era5Frames frames, int length, int count) {
        List<Start> all = new ArrayList<>();
        for (int year : frames.years()) {
            for (int frame = 0; frame + length < frames.count(year); frame++) {
                all.add(new Start(year, frame));
            }
        }
        List<Start> chosen = new ArrayList<>();
        for (int i = 0; i < Math.min(count, all.size()); i++) {
            chosen.add(all.get((int) ((long) i * all.size() / Math.min(count, all.size()))));
        }
        return chosen;
    }

    /** Rolls the model out and scores it. All ranks call this method together. */
    Scores run(int steps) {
        double[][] model = new double[steps][window.channels()];
        double[][] persistence = new double[steps][window.channels()];
        for (int first = 0; first < starts.size(); first += batch) {
            run(starts.subList(first, Math.min(first + batch, starts.size())), model, persistence);
        }
        for (double[][] sums : new double[][][] {model, persistence}) {
            for (double[] channels : sums) {
                for (int c = 0; c < channels.length; c++) {
                    channels[c] = Math.sqrt(channels[c] / starts.size());
                }
            }
        }
        return new Scores(starts.size(), model, persistence);
    }

    /** Adds the mean squared errors of one batch. A batch that is not full repeats its first start. */
    private void run(List<Start> some, double[][] model, double[][] persistence) {
        for (int i = 0; i < batch; i++) {
            Start start = some.get(i < some.size() ? i : 0);
            frames.read(start.year, start.frame, inputs.normalization(), initial, i * window.bytes());
        }
        MemorySegment.copy(initial, 0, forecasts, 0, initial.byteSize());
        for (int step = 1; step <= model.length; step++) {
            forecast(some, step);
            for (int i = 0; i < some.size(); i++) {
                Start start = some.get(i);
                frames.read(start.year, start.frame + step * config.data().dt(), inputs.normalization(), truth, 0);
                addErrors(forecasts, i, model[step - 1]);
                addErrors(initial, i, persistence[step - 1]);
            }
        }
    }

    /** Replaces the forecasts of the step before, or the initial fields, by those of a step. */
    private void forecast(List<Start> some, int step) {
        MemorySegment input = buffer.segment();
        long bytes = input.byteSize() / batch;
        for (int i = 0; i < batch; i++) {
            Start start = some.get(i < some.size() ? i : 0);
            MemorySegment.copy(forecasts, i * window.bytes(), input, i * bytes, window.bytes());
            inputs.extra().write(time(start, step - 1), inputs.normalization().means(),
                inputs.normalization().spreads(), window.channels(), input, i * bytes);
        }
        Tensor images = buffer.toDevice();
        replica.model().forward(images, new Pass.None(), Pass.Inspector.NONE);
        replica.model().device().download(forecasts, replica.model().prediction());
        buffer.release();
    }

    private LocalDateTime time(Start start, int step) {
        return LocalDate.of(start.year, 1, 1).atStartOfDay()
            .plusHours((start.frame + (long) step * config.data().dt()) * frames.hoursPerFrame());
    }

    private void addErrors(MemorySegment fields, int image, double[] sums) {
        long bytes = window.bytes() / window.channels();
        for (int c = 0; c < sums.length; c++) {
            sums[c] += FieldScores.of(weights, fields.asSlice(image * window.bytes() + c * bytes, bytes),
                truth.asSlice(c * bytes, bytes), Optional.empty()).mse();
        }
    }

    @Override
    public void close() {
        frames.close();
        buffer.close();
        arena.close();
    }
}
