package org.isobar.evaluation;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

import org.isobar.data.CropWindow;
import org.isobar.data.Era5Frames;
import org.isobar.data.Normalization;
import org.isobar.fault.UserException;
import org.isobar.forecast.LeadConsumer;
import org.isobar.forecast.StartTime;
import org.isobar.scores.AreaWeights;
import org.isobar.scores.FieldScores;
import org.isobar.scores.ForecastKind;
import org.isobar.scores.ScoreTable;
import org.isobar.scores.SpectrumMeans;
import org.isobar.scores.ZonalSpectrum;

/**
 * Scores each forecast of a roll-out, with persistence and climatology at the same times, in the units of the data.
 * Variables are scored in parallel; a variable's sums do not depend on that.
 */
final class FieldScorer implements LeadConsumer, AutoCloseable {
    /** The forecasts that are scored. */
    static final List<ForecastKind> KINDS =
        List.of(ForecastKind.MODEL, ForecastKind.PERSISTENCE, ForecastKind.CLIMATOLOGY);

    private final Era5Frames frames;
    private final int framesPerStep;
    private final ClimatologyFields climatologies;
    private final double[] weights; // (H)
    private final Map<StartTime, Integer> indices = new HashMap<>();
    private final ScoreTable table;
    private final SpectrumMeans spectra;
    private final ZonalSpectrum[] transforms; // (Cout)
    private final Arena arena = Arena.ofShared();
    private final MemorySegment truth; // (Cout, H, W)
    private final MemorySegment initial; // (Cout, H, W)
    private final MemorySegment climatology; // (Cout, H, W)

    /**
     * Allocates the table of scores.
     *
     * @param frames        the data, with the window of the model's output
     * @param framesPerStep frames of the data from one step of the model to the next
     * @param latitudes     (H), degrees north
     */
    FieldScorer(Era5Frames frames, int framesPerStep, ClimatologyFields climatologies, double[] latitudes,
            List<StartTime> starts, int leadSteps) {
        this.frames = frames;
        this.framesPerStep = framesPerStep;
        this.climatologies = climatologies;
        weights = AreaWeights.of(latitudes);
        for (StartTime start : starts) {
            indices.put(start, indices.size());
        }
        CropWindow window = frames.window();
        table = new ScoreTable(KINDS, leadSteps, window.channels(), starts.size());
        spectra = new SpectrumMeans(leadSteps, window.channels(), window.width());
        transforms = IntStream.range(0, window.channels())
            .mapToObj(variable -> new ZonalSpectrum(weights, window.width())).toArray(ZonalSpectrum[]::new);
        truth = arena.allocate(window.bytes(), Float.BYTES);
        initial = arena.allocate(window.bytes(), Float.BYTES);
        climatology = arena.allocate(window.bytes(), Float.BYTES);
    }

    /** The scores of the forecasts that this rank has received. */
    ScoreTable table() {
        return table;
    }

    /** The spectra of the forecasts that this rank has received. */
    SpectrumMeans spectra() {
        return spectra;
    }

    /** @throws UserException if the data or the climatology of the valid time cannot be read, or are not finite */
    @Override
    public void accept(StartTime start, int step, MemorySegment fields) {
        int valid = start.frame() + step * framesPerStep;
        Normalization none = Normalization.none(frames.window().channels());
        frames.read(start.year(), valid, none, truth, 0);
        frames.firstNonFinite(start.year(), valid, truth).ifPresent(place -> {
            throw new UserException("the field that the forecast from " + start + " is compared with is not finite: "
                + place + "; repair the data, or leave out that year");
        });
        frames.read(start.year(), start.frame(), none, initial, 0);
        climatologies.read(start.time().plus(Duration.ofHours((long) step * framesPerStep * frames.hoursPerFrame())),
            climatology);
        int index = indices.get(start);
        IntStream.range(0, transforms.length).parallel().forEach(variable -> score(fields, step, variable, index));
    }

    private void score(MemorySegment fields, int step, int variable, int index) {
        MemorySegment observed = field(truth, variable);
        MemorySegment normal = field(climatology, variable);
        MemorySegment forecast = field(fields, variable);
        for (ForecastKind kind : KINDS) {
            MemorySegment scored = switch (kind) {
                case MODEL, SECOND_MODEL -> forecast;
                case PERSISTENCE -> field(initial, variable);
                case CLIMATOLOGY -> normal;
            };
            table.put(kind, step, variable, index,
                FieldScores.of(weights, scored, observed, Optional.of(normal)));
        }
        spectra.add(SpectrumMeans.Side.FORECAST, step, variable, transforms[variable].power(forecast));
        spectra.add(SpectrumMeans.Side.TRUTH, step, variable, transforms[variable].power(observed));
    }

    private MemorySegment field(MemorySegment fields, int variable) {
        long bytes = frames.window().bytes() / frames.window().channels();
        return fields.asSlice(variable * bytes, bytes);
    }

    @Override
    public void close() {
        arena.close();
    }
}
