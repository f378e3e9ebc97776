package org.isobar.data.source;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.isobar.data.Era5File;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import org.isobar.os.RegularFile;

/**
 * An HDF5 file of a year with all channels in one data set {@code fields} (time, channel, latitude, longitude):
 * Makani's files, which a file {@code data.json} describes, and this program's own. Each channel is an array, with
 * attribute {@code channel}.
 */
public final class ChannelStore implements ArrayStore {
    private static final List<String> DIMS = List.of("time", "lat", "lon");
    /** Names that the dimensions of {@code fields} may have, if they have any. */
    private static final List<Set<String>> NAMES = List.of(Set.of("", "time", "timestamp"), Set.of("", "channel"),
        Set.of("", "lat", "latitude"), Set.of("", "lon", "longitude"));
    private static final String UNITS = "units";
    private static final int MAX_JSON = 16 << 20;
    private static final Pattern YEAR = Pattern.compile(".*?(\\d{4})\\.[^.]*");

    private final Hdf5Store file;
    private final StoredArray fields;
    private final JsonNode metadata; // MISSING if there is no data.json
    private final List<StoredArray> arrays = new ArrayList<>();

    private ChannelStore(Hdf5Store file, StoredArray fields, Optional<Path> json) {
        this.file = file;
        this.fields = fields;
        metadata = json.map(ChannelStore::parse).orElse(new ObjectMapper().missingNode());
        int[] shape = fields.shape();
        add("time", times(shape[0]), shape[0], timeAttributes());
        add("lat", coordinate("lat"), shape[2], Map.of(UNITS, "degrees_north"));
        add("lon", coordinate("lon"), shape[3], Map.of(UNITS, "degrees_east"));
        List<String> own;
        List<String> units;
        try (Era5File names = Era5File.open(file.path())) {
            own = names.channels();
            units = names.units();
        }
        JsonNode listed = metadata.path("coords").path("channel");
        List<String> channels = own.isEmpty() ? IntStream.range(0, listed.size())
            .mapToObj(c -> listed.get(c).asText()).toList() : own;
        check("channel", channels.size(), shape[1]);
        for (int c = 0; c < channels.size(); c++) {
            ArrayAttributes attributes = new ArrayAttributes(units.size() == channels.size() && !units.get(c).isBlank()
                ? Map.of("channel", channels.get(c), UNITS, units.get(c)) : Map.of("channel", channels.get(c)));
            arrays.add(new Channel(fields, channels.get(c), c, attributes));
        }
    }

    /**
     * Sees a file as one of channels.
     *
     * @param file an open file; it is closed with the new store
     * @return empty if it has no data set {@code fields} of time, channel, latitude and longitude, with these names or
     *     without names
     * @throws UserException if it has one, but names, coordinates or times are nowhere or do not fit
     */
    public static Optional<ChannelStore> of(Hdf5Store file) {
        return file.arrays().stream().filter(array -> array.name().equals(Era5File.FIELDS) && areNames(array.dims()))
            .findFirst().map(fields -> new ChannelStore(file, fields, json(file.path())));
    }

    private static boolean areNames(List<String> dims) {
        return dims.size() == NAMES.size()
            && IntStream.range(0, dims.size()).allMatch(d -> NAMES.get(d).contains(dims.get(d)));
    }

    /** Makani's description of a file: beside it, or in its data set's directory {@code metadata}. */
    private static Optional<Path> json(Path path) {
        Path directory = path.toAbsolutePath().getParent();
        Path above = directory.getParent() == null ? directory : directory.getParent();
        return Stream.of(directory.resolve("data.json"), directory.resolve("metadata/data.json"),
            above.resolve("data.json"), above.resolve("metadata/data.json")).filter(Files::exists).findFirst();
    }

    private static JsonNode parse(Path path) {
        try {
            return new ObjectMapper().readTree(RegularFile.read(path, MAX_JSON));
        } catch (JsonProcessingException failure) {
            throw new UserException("Description of data " + path + " is no JSON (" + failure.getOriginalMessage()
                + "). Copy it again.", failure);
        } catch (IOException failure) {
            throw FileFault.unreadable("description of data " + path, failure);
        }
    }

    private void add(String name, double[] values, int extent, Map<String, Object> attributes) {
        check(name, values.length, extent);
        arrays.add(new MemoryArray(name, values, new ArrayAttributes(attributes)));
    }

    private void check(String name, int count, int extent) {
        if (count != extent) {
            throw new UserException(title() + ": 'fields' of shape " + Arrays.toString(fields.shape()) + " needs "
                + extent + " values of '" + name + "', and there are " + count + " in the file and in data.json. Put "
                + "Makani's metadata/data.json beside the file's directory, or write a data set '" + name + "'.");
        }
    }

    private double[] coordinate(String name) {
        JsonNode listed = metadata.path("coords").path(name);
        return own(name).map(ChannelStore::values).orElseGet(() ->
            IntStream.range(0, listed.size()).mapToDouble(i -> listed.get(i).asDouble(Double.NaN)).toArray());
    }

    private double[] times(int count) {
        double hours = metadata.path("dhours").asDouble(0);
        return clock().map(ChannelStore::values).orElseGet(() -> hours > 0 && Double.isFinite(hours)
            ? IntStream.range(0, count).mapToDouble(i -> i * hours).toArray() : new double[0]);
    }

    private Map<String, Object> timeAttributes() {
        Optional<StoredArray> clock = clock();
        if (clock.isPresent()) {
            ArrayAttributes own = clock.get().attributes();
            return own.text(UNITS).filter(unit -> !unit.isBlank()).isPresent() ? own.values()
                : Map.of(UNITS, "seconds since 1970-01-01 00:00:00");
        }
        Matcher year = YEAR.matcher(file.path().getFileName().toString());
        if (!year.matches()) {
            throw new UserException(title() + " has no times, and its name does not end in a year. Name it YYYY.h5.");
        }
        return Map.of(UNITS, "hours since " + year.group(1) + "-01-01 00:00:00");
    }

    /** The file's own times. */
    private Optional<StoredArray> clock() {
        return own("time").or(() -> own("timestamp"));
    }

    /** A one-dimensional data set of the file. */
    private Optional<StoredArray> own(String name) {
        return file.arrays().stream().filter(array -> array.name().equals(name) && array.shape().length == 1)
            .findFirst();
    }

    private static double[] values(StoredArray array) {
        double[] values = new double[array.shape()[0]];
        MemorySegment elements = MemorySegment.ofArray(new byte[values.length * array.type().bytes()]);
        array.read(new int[1], array.shape(), elements);
        array.type().widen(elements, 0, values.length, values);
        return values;
    }

    @Override
    public Path path() {
        return file.path();
    }

    @Override
    public String title() {
        return "HDF5 file " + file.path();
    }

    @Override
    public List<StoredArray> arrays() {
        return arrays;
    }

    @Override
    public void close() {
        file.close();
    }

    /** A channel of the data set. */
    private record Channel(StoredArray fields, String name, int index, ArrayAttributes attributes)
        implements StoredArray {
        @Override
        public List<String> dims() {
            return DIMS;
        }

        @Override
        public int[] shape() {
            return without(fields.shape());
        }

        @Override
        public NumberType type() {
            return fields.type();
        }

        @Override
        public int[] chunk() {
            return without(fields.chunk());
        }

        private static int[] without(int[] extents) {
            return new int[] {extents[0], extents[2], extents[3]};
        }

        @Override
        public void read(int[] start, int[] count, MemorySegment target) {
            fields.read(new int[] {start[0], index, start[1], start[2]}, new int[] {count[0], 1, count[1], count[2]},
                target);
        }
    }
}
