package org.isobar.forecast;

import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;

import org.isobar.data.Era5Frames;
import org.isobar.telemetry.CountProgress;
import org.isobar.telemetry.RunLog;
import org.isobar.train.RankProcess;
import org.isobar.train.RunContext;

/** One rank's part of the command {@code forecast}: rolls a model out from frames of the data into a Zarr store. */
public final class ForecastRun {
    private final ForecastModel model;
    private final Request request;
    private final RunContext context;
    private final RunLog log;
    private final List<StartTime> starts; // in order of time

    /**
     * What is forecast.
     *
     * @param dataDir directory of the initial fields
     * @param starts  initial times
     * @param steps   number of model steps from each
     * @param out     the Zarr store that is written
     * @param points  places whose time series are written as CSV beside it; may be empty
     * @param pictures what is drawn beside it
     */
    public record Request(Path dataDir, List<StartTime> starts, int steps, Path out, List<PlacePoint> points,
        PictureRequest pictures) {
        /** Forecasts without time series and pictures. */
        public Request(Path dataDir, List<StartTime> starts, int steps, Path out) {
            this(dataDir, starts, steps, out, List.of(), PictureRequest.NONE);
        }
    }

    private ForecastRun(ForecastModel model, Request request, RunContext context, RunLog log) {
        this.model = model;
        this.request = request;
        this.context = context;
        this.log = log;
        starts = request.starts.stream().sorted(Comparator.comparing(StartTime::time)).toList();
    }

    /** Forecasts, and returns the exit code: 0, 2 for invalid input, 1 for any other failure. */
    public static int run(ForecastModel model, Request request, RunContext context) {
        return RankProcess.run(model.run().ranks(), context.screen(),
            log -> new ForecastRun(model, request, context, log).run());
    }

    private int run() {
        RollOut.requireSteps(model, request.steps);
        ForecastStore store = new ForecastStore(request.out, model, starts, request.steps);
        request.pictures.require(model.config().forecastNames(), request.steps);
        request.points.forEach(point -> new PointWeights(point, model.config().grid())); // each lies on the grid
        Path series = store.beside(".points.csv", !request.points.isEmpty());
        Path pictures = store.beside(".pictures", !request.pictures.variables().isEmpty());
        try (Era5Frames frames = model.inputs(request.dataDir)) {
            starts.forEach(start -> frames.require(start.year(), start.frame()));
            ForecastSession.run(model, context, log::info, session -> {
                forecast(session, frames, store);
                if (model.run().ranks().rank() == 0) {
                    ForecastProducts products = new ForecastProducts(store, model.config(), starts, request.steps);
                    products.writeSeries(request.points, series);
                    products.writePictures(request.pictures, pictures, frames);
                    store.complete();
                }
                return null;
            });
        }
        log.info("Forecasts: " + request.out);
        return 0;
    }

    /** Between the barriers, the store is prepared, then listed by all ranks, then written. */
    private void forecast(ForecastSession session, Era5Frames frames, ForecastStore store) {
        boolean first = model.run().ranks().rank() == 0;
        if (first) {
            store.begin(identity(frames));
        }
        session.consensus().barrier();
        List<StartTime> missing = store.missing();
        session.consensus().barrier();
        if (missing.size() < starts.size()) {
            log.info("Continuing: the forecasts from %d of %d starts are there already".formatted(
                starts.size() - missing.size(), starts.size()));
        }
        long own = (long) session.rollOut().share(missing).size() * request.steps;
        try (CountProgress progress = new CountProgress(context.screen(), "step", own)) {
            session.rollOut().run(missing, request.steps, InitialFields.of(frames, model),
                first ? store.counted(progress) : store);
        }
        session.consensus().barrier();
    }

    /** Text that differs if model, data, starts or number of steps do. */
    private String identity(Era5Frames frames) {
        return String.join("\n", model.identity(), "data " + frames.fingerprint(), "starts " + starts,
            "steps " + request.steps, "");
    }
}
