package org.isobar.forecast;

import java.io.IOException;
import java.io.Writer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Optional;

import org.isobar.data.Era5Frames;
import org.isobar.data.Normalization;
import org.isobar.metrics.ForecastMap;
import org.isobar.os.AtomicFile;
import org.isobar.pretrained.Channel;
import org.isobar.pretrained.ModelConfig;

/**
 * Writes what is made of the forecasts of a complete store: time series at points, and maps beside the data of the same
 * time. Its memory is that of a few fields.
 */
final class ForecastProducts {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm");

    private final ForecastStore store;
    private final ModelConfig model;
    private final List<StartTime> starts;
    private final int steps;

    /** The products of a store's forecasts. */
    ForecastProducts(ForecastStore store, ModelConfig model, List<StartTime> starts, int steps) {
        this.store = store;
        this.model = model;
        this.starts = starts;
        this.steps = steps;
    }

    /**
     * Writes the values of all variables at points as CSV, a line for each start, lead and point. Without points there
     * is no file.
     *
     * @param file the CSV file, which is replaced if it is there
     * @throws org.isobar.fault.UserException if a point lies outside the grid, or the file cannot be written
     */
    void writeSeries(List<PlacePoint> points, Path file) {
        if (points.isEmpty()) {
            return;
        }
        List<PointWeights> weights = points.stream().map(point -> new PointWeights(point, model.grid())).toList();
        new AtomicFile("time series", file, ForecastStore.OPTION).write(channel -> {
            Writer lines = Channels.newWriter(channel, StandardCharsets.UTF_8);
            lines.write("point,latitude,longitude,start,lead_hours,time," + String.join(",", model.forecastNames())
                + "\n");
            for (StartTime start : starts) {
                for (int step = 1; step <= steps; step++) {
                    writeLines(lines, points, weights, start, step);
                }
            }
            lines.flush();
        });
    }

    /** Writes a line for each point. */
    private void writeLines(Writer lines, List<PlacePoint> points, List<PointWeights> weights, StartTime start,
        int step) throws IOException {
        StringBuilder[] values = points.stream().map(_ -> new StringBuilder()).toArray(StringBuilder[]::new);
        for (String variable : model.forecastNames()) {
            float[] field = store.read(variable, start, step);
            for (int i = 0; i < values.length; i++) {
                values[i].append(',').append(weights.get(i).at(field));
            }
        }
        int hours = step * model.leadStepHours();
        for (int i = 0; i < values.length; i++) {
            PlacePoint point = points.get(i);
            lines.write(String.join(",", point.name(), Double.toString(point.latitude()),
                Double.toString(point.longitude()), TIME.format(start.time()), Integer.toString(hours),
                TIME.format(start.time().plusHours(hours))) + values[i] + "\n");
        }
    }

    /**
     * Draws maps, a PNG file for each variable, start and lead. The target is missing where the data have no frame of
     * that time.
     *
     * @param directory where the files are written; it is created if it does not exist
     * @param frames    the data, with the model's input as window
     * @throws org.isobar.fault.UserException if the data cannot be read, or a file cannot be written
     */
    void writePictures(PictureRequest pictures, Path directory, Era5Frames frames) {
        ForecastMap map = new ForecastMap(doubles(model.grid().latitudes()), doubles(model.grid().longitudes()));
        for (StartTime start : starts) {
            for (int step : pictures.steps()) {
                int hours = step * model.leadStepHours();
                LocalDateTime time = start.time().plusHours(hours);
                try (Arena arena = Arena.ofConfined()) {
                    Optional<MemorySegment> truth = StartTime.at(time, frames.hoursPerFrame())
                        .filter(frame -> frames.has(frame.year(), frame.frame()))
                        .map(frame -> read(frame, frames, arena));
                    for (String variable : pictures.variables()) {
                        Channel channel = model.channels().get(model.forecastNames().indexOf(variable));
                        byte[] png = map.png("%s, %d h forecast from %s for %s UTC".formatted(variable, hours,
                            TIME.format(start.time()), TIME.format(time)), channel.unit(),
                            store.read(variable, start, step),
                            truth.map(fields -> field(fields, model.channels().indexOf(channel))));
                        new AtomicFile("picture", directory.resolve("%s_%s_%03dh.png".formatted(variable, start,
                            hours)), ForecastStore.OPTION).write(png);
                    }
                }
            }
        }
    }

    private static MemorySegment read(StartTime time, Era5Frames frames, Arena arena) {
        MemorySegment fields = arena.allocate(frames.window().bytes(), Float.BYTES);
        frames.read(time.year(), time.frame(), Normalization.none(frames.window().channels()), fields, 0);
        return fields;
    }

    private float[] field(MemorySegment fields, int channel) {
        long bytes = (long) model.grid().latitudes().size() * model.grid().longitudes().size() * Float.BYTES;
        return fields.asSlice(channel * bytes, bytes).toArray(ValueLayout.JAVA_FLOAT);
    }

    private static double[] doubles(List<Double> values) {
        return values.stream().mapToDouble(Double::doubleValue).toArray();
    }
}
