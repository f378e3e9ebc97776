package org.isobar.evaluation;

import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

import org.isobar.data.CropWindow;
import org.isobar.data.Era5Frames;
import org.isobar.forecast.LeadConsumer;
import org.isobar.forecast.StartTime;
import org.isobar.scores.AreaWeights;
import org.isobar.scores.FieldScores;
import org.isobar.scores.ForecastKind;
import org.isobar.scores.SpectrumMeans;

/**
 * Scores each forecast of a roll-out, with persistence and climatology at the same times, in the units of the data.
 * Variables are scored in parallel; a variable's sums do not depend on that.
 */
final class FieldScorer implements AutoCloseable {
    private final CropWindow window;
    private final int framesPerStep;
    private final double[] weights; // (H)
    private final VerifyingFields fields;

    /**
     * Prepares the scores of forecasts.
     *
     * @param frames        the data, with the window of the model's output
     * @param framesPerStep frames of the data from one step of the model to the next
     * @param latitudes     (H), degrees north
     */
    FieldScorer(Era5Frames frames, int framesPerStep, ClimatologyFields climatologies, double[] latitudes) {
        this.framesPerStep = framesPerStep;
        window = frames.window();
        weights = AreaWeights.of(latitudes);
        fields = new VerifyingFields(frames, climatologies, weights);
    }

    /**
     * A consumer that enters the scores and spectra of forecasts, and the scores of persistence and climatology.
     *
     * @param starts the initial times of {@code scores}, in their order
     */
    LeadConsumer model(List<StartTime> starts, PartialScores scores) {
        Map<StartTime, Integer> indices = indices(starts);
        return (start, step, forecast) -> {
            VerifyingFields.Fields initial = fields.initial(start);
            VerifyingFields.Fields valid = fields.valid(valid(start, step));
            int index = indices.get(start);
            IntStream.range(0, window.channels()).parallel().forEach(variable -> {
                FieldScores model = score(slice(forecast, variable), valid, variable);
                FieldScores persistence = score(initial.truth(variable), valid, variable);
                scores.table().put(ForecastKind.MODEL, step, variable, index, model);
                scores.table().put(ForecastKind.PERSISTENCE, step, variable, index, persistence);
                scores.table().put(ForecastKind.CLIMATOLOGY, step, variable, index, valid.climatologyScores(variable));
                scores.spectra().add(SpectrumMeans.Side.FORECAST, step, variable,
                    fields.power(slice(forecast, variable), variable));
                scores.spectra().add(SpectrumMeans.Side.TRUTH, step, variable, valid.power(variable));
            });
        };
    }

    /** A consumer that enters the scores of a second model's forecasts. */
    LeadConsumer secondModel(List<StartTime> starts, PartialScores scores) {
        Map<StartTime, Integer> indices = indices(starts);
        return (start, step, forecast) -> {
            VerifyingFields.Fields valid = fields.valid(valid(start, step));
            IntStream.range(0, window.channels()).parallel().forEach(variable -> scores.table().put(
                ForecastKind.SECOND_MODEL, step, variable, indices.get(start),
                score(slice(forecast, variable), valid, variable)));
        };
    }

    private static Map<StartTime, Integer> indices(List<StartTime> starts) {
        Map<StartTime, Integer> indices = new HashMap<>();
        for (StartTime start : starts) {
            indices.put(start, indices.size());
        }
        return indices;
    }

    private StartTime valid(StartTime start, int step) {
        return new StartTime(start.year(), start.frame() + step * framesPerStep, start.hoursPerFrame());
    }

    private FieldScores score(MemorySegment forecast, VerifyingFields.Fields valid, int variable) {
        return FieldScores.of(weights, forecast, valid.truth(variable), Optional.of(valid.climatology(variable)));
    }

    private MemorySegment slice(MemorySegment all, int variable) {
        long bytes = window.bytes() / window.channels();
        return all.asSlice(variable * bytes, bytes);
    }

    @Override
    public void close() {
        fields.close();
    }
}
