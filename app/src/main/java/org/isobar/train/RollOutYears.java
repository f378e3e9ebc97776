package org.isobar.train;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import org.isobar.config.RunConfig;
import org.isobar.config.TrainingConfig;
import org.isobar.data.CropWindow;
import org.isobar.data.Era5Frames;
import org.isobar.data.InputDescription;
import org.isobar.device.HostBuffer;
import org.isobar.scores.AreaWeights;
import org.isobar.scores.FieldScores;

/** Fields of the validation years, with starts that are evenly spaced. */
final class RollOutYears implements RollOutFields {
    private final RunConfig config;
    private final InputDescription inputs;
    private final Era5Frames frames;
    private final List<Start> starts;
    private final CropWindow window; // the variables, all of which the model forecasts
    private final double[] weights; // (H)
    private final int batch;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment initial; // (B, Cout, H, W)
    private final MemorySegment forecasts; // (B, Cout, H, W)
    private final MemorySegment truth; // (Cout, H, W)
    private final double[][] ofModel; // (steps, Cout), sums of squared errors
    private final double[][] ofPersistence; // (steps, Cout)
    private List<Start> some = List.of(); // the starts of this batch

    private record Start(int year, int frame) { }

    private RollOutYears(RunConfig config, InputDescription inputs, Era5Frames frames, List<Start> starts, int steps) {
        this.config = config;
        this.inputs = inputs;
        this.frames = frames;
        this.starts = starts;
        window = frames.window();
        weights = AreaWeights.of(inputs.latitudes().orElseGet(() -> AreaWeights.tutorialLatitudes(window.height())));
        batch = config.training().localBatchSize();
        initial = arena.allocate(batch * window.bytes(), Float.BYTES);
        forecasts = arena.allocate(batch * window.bytes(), Float.BYTES);
        truth = arena.allocate(window.bytes(), Float.BYTES);
        ofModel = new double[steps][window.channels()];
        ofPersistence = new double[steps][window.channels()];
    }

    /** The fields of a run with this configuration. */
    static Source of(RunConfig config, InputDescription inputs) {
        return (steps, most) -> forecastsAll(config) ? open(config, inputs, steps, most) : Optional.empty();
    }

    /** Whether the model forecasts all variables that it reads. */
    static boolean forecastsAll(RunConfig config) {
        return config.model().outChannels() >= config.validationData().variables().channels();
    }

    /**
     * Checks at the start of a run that the fields of its roll-outs can be opened.
     *
     * @throws UserException if they cannot
     */
    static void check(RunConfig config) {
        TrainingConfig training = config.training();
        if (forecastsAll(config) && (training.validateRollout().isPresent() || training.finalRollout().isPresent())) {
            frames(config).close();
        }
    }

    private static Era5Frames frames(RunConfig config) {
        return Era5Frames.of(config.data().validPath(), config.validationData().variables(),
            config.data().hoursPerFrame(), config.data().channels().variables(), _ -> { }); // training has read them
    }

    private static Optional<RollOutFields> open(RunConfig config, InputDescription inputs, int steps, int most) {
        Era5Frames frames = frames(config);
        List<Start> starts = starts(frames, steps * config.data().dt(), most);
        if (starts.isEmpty()) {
            frames.close();
            return Optional.empty();
        }
        return Optional.of(new RollOutYears(config, inputs, frames, starts, steps));
    }

    private static List<Start> starts(Era5Frames frames, int length, int most) {
        List<Start> all = new ArrayList<>();
        for (int year : frames.years()) {
            for (int frame = 0; frame + length < frames.count(year); frame++) {
                all.add(new Start(year, frame));
            }
        }
        List<Start> chosen = new ArrayList<>();
        for (int i = 0; i < Math.min(most, all.size()); i++) {
            chosen.add(all.get((int) ((long) i * all.size() / Math.min(most, all.size()))));
        }
        return chosen;
    }

    @Override
    public int starts() {
        return starts.size();
    }

    @Override
    public void begin(int first, int count) {
        some = starts.subList(first, first + count);
        for (int i = 0; i < batch; i++) {
            Start start = start(i);
            frames.read(start.year, start.frame, inputs.normalization(), initial, i * window.bytes());
        }
        MemorySegment.copy(initial, 0, forecasts, 0, initial.byteSize());
    }

    private Start start(int image) {
        return some.get(image < some.size() ? image : 0);
    }

    @Override
    public void write(HostBuffer images, int step) {
        MemorySegment input = images.segment(); // (B, Cin, H, W)
        long bytes = input.byteSize() / batch;
        for (int i = 0; i < batch; i++) {
            MemorySegment.copy(forecasts, i * window.bytes(), input, i * bytes, window.bytes());
            inputs.extra().write(time(start(i), step - 1), inputs.normalization().means(),
                inputs.normalization().spreads(), window.channels(), input, i * bytes);
        }
    }

    private LocalDateTime time(Start start, int step) {
        return LocalDate.of(start.year, 1, 1).atStartOfDay()
            .plusHours((start.frame + (long) step * config.data().dt()) * frames.hoursPerFrame());
    }

    @Override
    public MemorySegment forecasts() {
        return forecasts;
    }

    @Override
    public void score(int step) {
        for (int i = 0; i < some.size(); i++) {
            Start start = some.get(i);
            frames.read(start.year, start.frame + step * config.data().dt(), inputs.normalization(), truth, 0);
            addErrors(forecasts, i, ofModel[step - 1]);
            addErrors(initial, i, ofPersistence[step - 1]);
        }
    }

    private void addErrors(MemorySegment fields, int image, double[] sums) {
        long bytes = window.bytes() / window.channels();
        for (int c = 0; c < sums.length; c++) {
            sums[c] += FieldScores.of(weights, fields.asSlice(image * window.bytes() + c * bytes, bytes),
                truth.asSlice(c * bytes, bytes), Optional.empty()).mse();
        }
    }

    @Override
    public Scores scores() {
        return new Scores(starts.size(), rootMeans(ofModel), rootMeans(ofPersistence));
    }

    private double[][] rootMeans(double[][] sums) {
        double[][] roots = new double[sums.length][window.channels()];
        for (int step = 0; step < sums.length; step++) {
            for (int c = 0; c < window.channels(); c++) {
                roots[step][c] = Math.sqrt(sums[step][c] / starts.size());
            }
        }
        return roots;
    }

    @Override
    public void close() {
        frames.close();
        arena.close();
    }
}
