package org.isobar.evaluation;

import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

import org.isobar.data.CropWindow;
import org.isobar.data.Era5Frames;
import org.isobar.device.Device;
import org.isobar.forecast.LeadConsumer;
import org.isobar.forecast.StartTime;
import org.isobar.scores.AreaWeights;
import org.isobar.scores.FieldScores;
import org.isobar.scores.ForecastKind;
import org.isobar.scores.SpectrumMeans;

/**
 * Scores each forecast of a roll-out, with persistence and climatology at the same times, in the units of the data.
 * Fields are scored in parallel; their sums do not depend on that.
 */
final class FieldScorer implements AutoCloseable {
    private final Device device;
    private final CropWindow window;
    private final int framesPerStep;
    private final double[] weights; // (H)
    private final VerifyingFields fields;

    /**
     * Prepares the scores of forecasts.
     *
     * @param device        whose host threads compute the scores
     * @param frames        the data, with the window of the model's output
     * @param framesPerStep frames of the data from one step of the model to the next
     * @param latitudes     (H), degrees north
     */
    FieldScorer(Device device, Era5Frames frames, int framesPerStep, ClimatologyFields climatologies,
            double[] latitudes) {
        this.device = device;
        this.framesPerStep = framesPerStep;
        window = frames.window();
        weights = AreaWeights.of(latitudes);
        fields = new VerifyingFields(device, frames, climatologies, weights);
    }

    /**
     * A consumer that enters the scores and spectra of forecasts, and the scores of persistence and climatology.
     *
     * @param starts the initial times of {@code scores}, in their order
     */
    LeadConsumer model(List<StartTime> starts, PartialScores scores) {
        return new Scoring(starts, (forecast, step, variable) -> {
            VerifyingFields.Fields valid = forecast.valid;
            MemorySegment values = slice(forecast.values, variable);
            List<FieldScores> both = FieldScores.of(weights,
                List.of(values, forecast.initial.truth(variable)), valid.truth(variable),
                Optional.of(valid.climatology(variable)));
            double[] power = fields.power(values);
            return () -> {
                int index = forecast.index;
                scores.table().put(ForecastKind.MODEL, step, variable, index, both.getFirst());
                scores.table().put(ForecastKind.PERSISTENCE, step, variable, index, both.getLast());
                scores.table().put(ForecastKind.CLIMATOLOGY, step, variable, index, valid.climatologyScores(variable));
                scores.spectra().add(SpectrumMeans.Side.FORECAST, step, variable, power);
                scores.spectra().add(SpectrumMeans.Side.TRUTH, step, variable, valid.power(variable));
            };
        });
    }

    /** A consumer that enters the scores of a second model's forecasts. */
    LeadConsumer secondModel(List<StartTime> starts, PartialScores scores) {
        return new Scoring(starts, (forecast, step, variable) -> {
            VerifyingFields.Fields valid = forecast.valid;
            FieldScores second = FieldScores.of(weights, slice(forecast.values, variable), valid.truth(variable),
                Optional.of(valid.climatology(variable)));
            return () -> scores.table().put(ForecastKind.SECOND_MODEL, step, variable, forecast.index, second);
        });
    }

    /**
     * A forecast and the fields that it is compared with.
     *
     * @param index   of the initial time
     * @param initial the fields of the initial time
     * @param valid   the fields of the valid time
     * @param values  (Cout, H, W)
     */
    private record Forecast(int index, VerifyingFields.Fields initial, VerifyingFields.Fields valid,
        MemorySegment values) { }

    /** Scores a variable of a forecast. Several threads call it. */
    private interface Score {
        /** What enters the scores; called by one thread. */
        Runnable of(Forecast forecast, int step, int variable);
    }

    /** Scores the forecasts of a batch in parallel, and enters the scores in the order of the starts. */
    private final class Scoring implements LeadConsumer {
        private final Map<StartTime, Integer> indices;
        private final Score score;

        Scoring(List<StartTime> starts, Score score) {
            indices = indices(starts);
            this.score = score;
        }

        @Override
        public void accept(StartTime start, int step, MemorySegment values) {
            acceptAll(List.of(start), step, values);
        }

        @Override
        public void acceptAll(List<StartTime> starts, int step, MemorySegment values) {
            int most = fields.pairs();
            for (int first = 0; first < starts.size(); first += most) {
                List<Forecast> forecasts = IntStream.range(first, Math.min(first + most, starts.size()))
                    .mapToObj(i -> forecast(starts.get(i), step, values.asSlice(i * window.bytes(), window.bytes())))
                    .toList();
                int variables = window.channels();
                Runnable[] entries = new Runnable[forecasts.size() * variables];
                device.runOnHost(entries.length,
                    i -> entries[i] = score.of(forecasts.get(i / variables), step, i % variables));
                for (Runnable entry : entries) {
                    entry.run();
                }
            }
        }

        private Forecast forecast(StartTime start, int step, MemorySegment values) {
            return new Forecast(indices.get(start), fields.initial(start), fields.valid(valid(start, step)), values);
        }
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

    private MemorySegment slice(MemorySegment all, int variable) {
        long bytes = window.bytes() / window.channels();
        return all.asSlice(variable * bytes, bytes);
    }

    @Override
    public void close() {
        fields.close();
    }
}
