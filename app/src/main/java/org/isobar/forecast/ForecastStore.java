package org.isobar.forecast;

import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.isobar.data.CropWindow;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;
import org.isobar.os.ProgramVersion;
import org.isobar.os.RegularFile;
import org.isobar.pretrained.Channel;
import org.isobar.pretrained.ModelConfig;

/**
 * Forecasts as a Zarr store in WeatherBench 2's conventions: each variable has the dimensions time (of the start),
 * prediction_timedelta, latitude and longitude, and a chunk for each start and lead. The store is written under the
 * name {@code OUT.partial} and renamed when it is complete. An unfinished store of the same forecasts is continued.
 */
final class ForecastStore implements LeadConsumer {
    /** The option that names the store. */
    static final String OPTION = "--out";
    private static final String PARTIAL = ".partial";
    private static final String IDENTITY = ".forecast";
    private static final int SECONDS_PER_HOUR = 3600;

    private final Path out;
    private final Path partial;
    private final ZarrGroup group;
    private final ModelConfig model;
    private final CropWindow window;
    private final List<StartTime> starts;
    private final int steps;

    /**
     * The store of forecasts that start at {@code starts} and have {@code steps} leads.
     *
     * @throws UserException if there is a file or a directory of that name
     */
    ForecastStore(Path out, ForecastModel model, List<StartTime> starts, int steps) {
        this.out = out;
        this.model = model.config();
        window = model.output();
        this.starts = starts;
        this.steps = steps;
        if (Files.exists(out, LinkOption.NOFOLLOW_LINKS) || out.getFileName() == null) {
            throw new UserException(OPTION + " " + out + " exists already; delete it, or give another name");
        }
        partial = out.resolveSibling(out.getFileName() + PARTIAL);
        group = new ZarrGroup(partial);
    }

    /**
     * Prepares the store on one rank, before others write to it.
     *
     * @param identity names the model, the data and the forecasts; an unfinished store of another identity is deleted
     */
    void begin(String identity) {
        writing(() -> {
            Path file = partial.resolve(IDENTITY);
            if (Files.exists(partial) && !(Files.exists(file) && Files.readString(file).equals(identity))) {
                deleteTree();
            }
            Files.createDirectories(partial);
            deleteTemporaries();
            describe();
            AtomicFile.replace(file, channel -> AtomicFile.writeFully(channel,
                ByteBuffer.wrap(identity.getBytes(StandardCharsets.UTF_8))));
        });
    }

    private void deleteTree() throws IOException {
        if (!Files.exists(partial.resolve(IDENTITY)) && !Files.exists(partial.resolve(".zgroup"))) {
            throw new UserException(partial + " is not an unfinished forecast; delete it, or give another " + OPTION);
        }
        try (Stream<Path> tree = Files.walk(partial)) {
            for (Path path : tree.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }

    /** Deletes what a killed process left half-written. */
    private void deleteTemporaries() throws IOException {
        try (Stream<Path> tree = Files.walk(partial)) {
            for (Path path : tree.filter(file -> file.getFileName().toString().endsWith(".tmp")).toList()) {
                Files.delete(path);
            }
        }
    }

    private void describe() throws IOException {
        group.describe(ZarrGroup.attributes().put("Conventions", "CF-1.10").put("title", "Weather forecasts")
            .put("source", "isobar " + ProgramVersion.text() + ", architecture " + model.architecture()));
        coordinate("time", ZarrGroup.ElementType.INT64, starts.stream()
            .map(start -> start.time().toEpochSecond(ZoneOffset.UTC) / SECONDS_PER_HOUR).toList(),
            ZarrGroup.attributes().put("units", "hours since 1970-01-01 00:00:00")
                .put("calendar", "proleptic_gregorian").put("standard_name", "forecast_reference_time"));
        coordinate("prediction_timedelta", ZarrGroup.ElementType.INT64, IntStream.rangeClosed(1, steps)
            .mapToObj(step -> (long) step * model.leadStepHours()).toList(),
            ZarrGroup.attributes().put("units", "hours").put("standard_name", "forecast_period"));
        coordinate("latitude", ZarrGroup.ElementType.FLOAT64, model.grid().latitudes(),
            ZarrGroup.attributes().put("units", "degrees_north").put("standard_name", "latitude"));
        coordinate("longitude", ZarrGroup.ElementType.FLOAT64, model.grid().longitudes(),
            ZarrGroup.attributes().put("units", "degrees_east").put("standard_name", "longitude"));
        for (Channel channel : model.forecastChannels()) {
            ObjectNode attributes = ZarrGroup.attributes();
            CfName.of(channel.name()).ifPresent(name ->
                attributes.put("standard_name", name.standard()).put("long_name", name.full()));
            if (!channel.unit().isEmpty()) {
                attributes.put("units", channel.unit());
            }
            group.declare(new ZarrGroup.Variable(channel.name(), ZarrGroup.ElementType.FLOAT32,
                List.of("time", "prediction_timedelta", "latitude", "longitude"),
                List.of((long) starts.size(), (long) steps, (long) window.height(), (long) window.width()),
                List.of(1L, 1L, (long) window.height(), (long) window.width())), attributes);
        }
        group.consolidate();
    }

    private void coordinate(String name, ZarrGroup.ElementType type, List<? extends Number> values,
        ObjectNode attributes) throws IOException {
        List<Long> extent = List.of((long) values.size());
        group.declare(new ZarrGroup.Variable(name, type, List.of(name), extent, extent), attributes);
        ByteBuffer bytes = ByteBuffer.allocate(values.size() * Long.BYTES).order(ByteOrder.nativeOrder());
        for (Number value : values) {
            if (type == ZarrGroup.ElementType.INT64) {
                bytes.putLong(value.longValue());
            } else {
                bytes.putDouble(value.doubleValue());
            }
        }
        group.write(bytes.flip(), name, 0);
    }

    /** The starts whose forecasts are not all in the store yet. The last chunk of a start is written last. */
    List<StartTime> missing() {
        String last = model.forecastNames().getLast();
        return starts.stream()
            .filter(start -> !Files.exists(group.chunk(last, starts.indexOf(start), steps - 1, 0, 0))).toList();
    }

    @Override
    public void accept(StartTime start, int step, MemorySegment fields) {
        long bytes = window.bytes() / window.channels();
        writing(() -> {
            for (int channel = 0; channel < window.channels(); channel++) {
                group.write(fields.asSlice(channel * bytes, bytes).asByteBuffer(),
                    model.channels().get(channel).name(), starts.indexOf(start), step - 1, 0, 0);
            }
        });
    }

    /**
     * Reads a forecast that is written, before the store is complete.
     *
     * @return (H, W)
     * @throws UserException if it cannot be read
     */
    float[] read(String variable, StartTime start, int step) {
        Path chunk = group.chunk(variable, starts.indexOf(start), step - 1, 0, 0);
        try (FileChannel file = RegularFile.open(chunk)) {
            ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(window.bytes() / window.channels()))
                .order(ByteOrder.nativeOrder());
            while (bytes.hasRemaining()) {
                if (file.read(bytes) < 0) {
                    throw new EOFException("it has become shorter");
                }
            }
            float[] values = new float[bytes.capacity() / Float.BYTES];
            bytes.flip().asFloatBuffer().get(values);
            return values;
        } catch (IOException failure) {
            throw FileFault.unreadable("forecast " + chunk, failure);
        }
    }

    /**
     * The path of a product beside the store: that of the store, with another ending.
     *
     * @param wanted whether it will be written
     * @throws UserException if it will be written, but exists and is not of this unfinished store
     */
    Path beside(String ending, boolean wanted) {
        String name = out.getFileName().toString().replaceFirst("\\.zarr$", "");
        Path path = out.resolveSibling(name + ending);
        if (wanted && Files.exists(path) && !Files.exists(partial)) {
            throw new UserException(path + " exists already; delete it, or give another " + OPTION);
        }
        return path;
    }

    /** Gives the store its name, on one rank, when all ranks have written their forecasts. */
    void complete() {
        writing(() -> {
            Files.move(partial, out);
            Files.delete(out.resolve(IDENTITY));
            AtomicFile.forceDirectory(out.toAbsolutePath().getParent());
        });
    }

    /** Writes files. */
    private interface Writing {
        void run() throws IOException;
    }

    private void writing(Writing action) {
        try {
            action.run();
        } catch (IOException failure) {
            throw FileFault.unwritable("forecasts " + partial, OPTION, failure);
        } catch (UncheckedIOException failure) { // of a walk through the directory
            throw FileFault.unwritable("forecasts " + partial, OPTION, failure.getCause());
        }
    }
}
