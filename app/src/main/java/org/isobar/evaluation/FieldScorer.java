package org.isobar.evaluation;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

import org.isobar.data.CropWindow;
import org.isobar.data.Era5Frames;
import org.isobar.device.Device;
import org.isobar.device.PendingWork;
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
    private PendingWork work = PendingWork.DONE; // reads the fields and a forecast

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
        fields = new VerifyingFields(frames, climatologies, weights);
    }

    /**
     * A consumer that enters the scores and spectra of forecasts, and the scores of persistence and climatology.
     *
     * @param starts the initial times of {@code scores}, in their order
     */
    LeadConsumer model(List<StartTime> starts, PartialScores scores) {
        return new Scoring(starts, scores.spectra().leads()) {
            @Override
            void addTasks(Forecast forecast, int variable, List<Runnable> tasks) {
                VerifyingFields.Fields valid = forecast.valid;
                MemorySegment values = slice(forecast.values, variable);
                tasks.add(() -> {
                    List<FieldScores> both = FieldScores.of(weights,
                        List.of(values, forecast.initial.truth(variable)), valid.truth(variable),
                        Optional.of(valid.climatology(variable)));
                    scores.table().put(ForecastKind.MODEL, forecast.step, variable, forecast.index, both.getFirst());
                    scores.table().put(ForecastKind.PERSISTENCE, forecast.step, variable, forecast.index,
                        both.getLast());
                });
                tasks.add(() -> forecast.power[variable] = fields.power(values));
            }

            @Override
            void enter(Forecast forecast, int variable) {
                scores.table().put(ForecastKind.CLIMATOLOGY, forecast.step, variable, forecast.index,
                    forecast.valid.climatologyScores(variable));
                scores.spectra().add(SpectrumMeans.Side.FORECAST, forecast.step, variable, forecast.power[variable]);
                scores.spectra().add(SpectrumMeans.Side.TRUTH, forecast.step, variable, forecast.valid.power(variable));
            }
        };
    }

    /** A consumer that enters the scores of a second model's forecasts. */
    LeadConsumer secondModel(List<StartTime> starts, PartialScores scores) {
        return new Scoring(starts, scores.spectra().leads()) {
            @Override
            void addTasks(Forecast forecast, int variable, List<Runnable> tasks) {
                tasks.add(() -> scores.table().put(ForecastKind.SECOND_MODEL, forecast.step, variable, forecast.index,
                    FieldScores.of(weights, slice(forecast.values, variable), forecast.valid.truth(variable),
                        Optional.of(forecast.valid.climatology(variable)))));
            }

            @Override
            void enter(Forecast forecast, int variable) { }
        };
    }

    /**
     * A forecast and the fields that it is compared with.
     *
     * @param index   of the initial time
     * @param step    number of model steps from it
     * @param initial the fields of the initial time
     * @param valid   the fields of the valid time
     * @param values  (Cout, H, W)
     * @param power   (Cout), receives the spectra
     */
    private record Forecast(int index, int step, VerifyingFields.Fields initial, VerifyingFields.Fields valid,
        MemorySegment values, double[][] power) { }

    /** Scores the forecasts of a batch in parallel, until {@link #finish} at the latest. */
    private abstract class Scoring implements LeadConsumer {
        private final Map<StartTime, Integer> indices;
        private final int leads;
        private List<Forecast> forecasts = List.of(); // that are being scored

        Scoring(List<StartTime> starts, int leads) {
            indices = indices(starts);
            this.leads = leads;
        }

        /** Adds the tasks that score a variable of a forecast. Several threads run them, in any order. */
        abstract void addTasks(Forecast forecast, int variable, List<Runnable> tasks);

        /**
         * Enters what depends on the order of the forecasts. For each variable, one thread calls it in that order,
         * after all tasks.
         */
        abstract void enter(Forecast forecast, int variable);

        @Override
        public void accept(StartTime start, int step, MemorySegment values) {
            acceptAll(List.of(start), step, values);
        }

        @Override
        public void acceptAll(List<StartTime> starts, int step, MemorySegment values) {
            int most = fields.pairs();
            for (int first = 0; first < starts.size(); first += most) {
                finish(); // the fields of the next forecasts may take the place of those that are being scored
                List<StartTime> some = starts.subList(first, Math.min(first + most, starts.size()));
                long offset = first * window.bytes();
                forecasts = IntStream.range(0, some.size()).mapToObj(i -> forecast(some.get(i), step,
                    values.asSlice(offset + i * window.bytes(), window.bytes()))).toList();
                List<Runnable> tasks = new ArrayList<>();
                if (step < leads) { // the longest tasks come first
                    tasks.addAll(fields.readAhead(some.stream().map(start -> valid(start, step + 1)).toList()));
                }
                tasks.addAll(fields.verification());
                for (int i = 0; i < window.channels(); i++) { // one variable's forecasts read the same climatology
                    int variable = i;
                    forecasts.forEach(forecast -> addTasks(forecast, variable, tasks));
                }
                work = device.startOnHost(tasks.size(), i -> tasks.get(i).run());
            }
        }

        @Override
        public void finish() {
            work.await();
            if (!forecasts.isEmpty()) {
                device.runOnHost(window.channels(),
                    variable -> forecasts.forEach(forecast -> enter(forecast, variable)));
            }
            work = PendingWork.DONE;
            forecasts = List.of();
        }

        private Forecast forecast(StartTime start, int step, MemorySegment values) {
            return new Forecast(indices.get(start), step, fields.initial(start), fields.valid(valid(start, step)),
                values, new double[window.channels()][]);
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
        work.cancel(); // after a failure, which may have come before it was awaited
        fields.close();
    }
}
