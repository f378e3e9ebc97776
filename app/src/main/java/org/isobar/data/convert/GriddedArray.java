package org.isobar.data.convert;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

import org.isobar.data.source.ArrayAttributes;
import org.isobar.data.source.ArrayStore;
import org.isobar.data.source.StoredArray;
import org.isobar.fault.UserException;

/**
 * An array over latitudes and longitudes, with the meaning of its dimensions. These are found by the CF conventions
 * (units and standard names of coordinates), and by the names that are in use.
 */
final class GriddedArray {
    /** Index of a dimension that an array does not have. */
    static final int ABSENT = -1;
    private static final int MOST_COORDINATES = 1 << 24;

    private final ArrayStore store;
    private final StoredArray array;
    private final CfPacking packing;
    private final int[] dims; // of each role, or ABSENT
    private final long[] times;
    private final double[] levels;
    private final double[] latitudes;
    private final double[] longitudes;

    /** What a dimension is. */
    enum Role {
        /** Time steps. */
        TIME,
        /** Pressure levels. */
        LEVEL,
        /** Final and preliminary data of ERA5, which complement each other. */
        VERSION,
        /** Latitudes. */
        LATITUDE,
        /** Longitudes. */
        LONGITUDE
    }

    private GriddedArray(ArrayStore store, StoredArray array, int[] dims, Map<Role, StoredArray> coordinates) {
        this.store = store;
        this.array = array;
        this.dims = dims;
        packing = CfPacking.of(subject(), array);
        StoredArray time = coordinates.get(Role.TIME);
        StoredArray level = coordinates.get(Role.LEVEL);
        times = time == null ? new long[0] : times(time);
        levels = level == null ? new double[0] : levels(level);
        latitudes = read(coordinates.get(Role.LATITUDE));
        longitudes = read(coordinates.get(Role.LONGITUDE));
        for (Role role : Role.values()) {
            StoredArray coordinate = coordinates.get(role);
            int extent = dims[role.ordinal()] == ABSENT ? 1 : array.shape()[dims[role.ordinal()]];
            if (coordinate != null && StoredArray.elements(coordinate.shape()) != extent) {
                throw new UserException(subject() + " has " + extent + " along '" + coordinate.name() + "', which has "
                    + StoredArray.elements(coordinate.shape()) + " values. Download or make the file again.");
            }
        }
    }

    /**
     * An array of a store as a field; empty if it is no field over latitudes and longitudes.
     *
     * @throws UserException if it is one, but has other dimensions or coordinates than can be converted
     */
    static Optional<GriddedArray> of(ArrayStore store, StoredArray array) {
        Map<String, StoredArray> byName = store.arrays().stream()
            .collect(Collectors.toMap(StoredArray::name, Function.identity(), (first, second) -> first));
        int[] dims = new int[Role.values().length];
        Arrays.fill(dims, ABSENT);
        Map<Role, StoredArray> coordinates = new EnumMap<>(Role.class);
        String subject = subject(store, array);
        for (int d = 0; d < array.dims().size(); d++) {
            String name = array.dims().get(d);
            StoredArray coordinate = byName.get(name);
            Role role = coordinate == null ? role(name, ArrayAttributes.NONE) : role(name, coordinate.attributes());
            if (role != null && (role == Role.VERSION || coordinate != null && coordinate.shape().length == 1)) {
                if (dims[role.ordinal()] != ABSENT) {
                    throw new UserException(subject + " has two dimensions of " + role.name().toLowerCase(Locale.ROOT)
                        + ": '" + array.dims().get(dims[role.ordinal()]) + "' and '" + name
                        + "'. Select one of them.");
                }
                dims[role.ordinal()] = d;
                if (coordinate != null && role != Role.VERSION) {
                    coordinates.put(role, coordinate);
                }
            }
        }
        if (array.dims().size() < 2 || !coordinates.containsKey(Role.LATITUDE)
            || !coordinates.containsKey(Role.LONGITUDE)) {
            return Optional.empty();
        }
        addScalars(array, byName, coordinates);
        checkOthers(subject, array, dims);
        return Optional.of(new GriddedArray(store, array, dims, coordinates));
    }

    /** Coordinates without a dimension: a single time or level, which attribute {@code coordinates} names. */
    private static void addScalars(StoredArray array, Map<String, StoredArray> byName,
                                   Map<Role, StoredArray> coordinates) {
        for (String name : array.attributes().text("coordinates").orElse("").split("\\s+")) {
            StoredArray coordinate = byName.get(name);
            if (coordinate != null && coordinate.shape().length == 0) {
                Role role = role(name, coordinate.attributes());
                if (role == Role.TIME || role == Role.LEVEL) {
                    coordinates.putIfAbsent(role, coordinate);
                }
            }
        }
    }

    private static void checkOthers(String subject, StoredArray array, int[] dims) {
        for (int d = 0; d < array.dims().size(); d++) {
            int dim = d;
            if (Arrays.stream(dims).noneMatch(known -> known == dim) && array.shape()[d] != 1) {
                throw new UserException(subject + " has the dimension '" + array.dims().get(d) + "' of "
                    + array.shape()[d] + ", expected times, levels, latitudes and longitudes only, with coordinates. "
                    + "Select one index of it.");
            }
        }
    }

    private static Role role(String name, ArrayAttributes attributes) {
        String units = attributes.text("units").orElse("");
        String standard = attributes.text("standard_name").orElse("");
        String lower = name.toLowerCase(Locale.ROOT);
        if (units.matches("degrees?_?(N|north)") || standard.equals("latitude") || lower.matches("lat|latitude")) {
            return Role.LATITUDE;
        }
        if (units.matches("degrees?_?(E|east)") || standard.equals("longitude") || lower.matches("lon|longitude")) {
            return Role.LONGITUDE;
        }
        if (CfTime.isTime(units) || standard.equals("time") || lower.matches("time|valid_time")) {
            return Role.TIME;
        }
        if (standard.equals("air_pressure") || lower.matches("level|pressure_level|plev|lev|isobaricinhpa|pressure")) {
            return Role.LEVEL;
        }
        return lower.equals("expver") ? Role.VERSION : null;
    }

    /** Name of the array. */
    String name() {
        return array.name();
    }

    /** The array as stored. */
    StoredArray stored() {
        return array;
    }

    /** How its elements are packed. */
    CfPacking packing() {
        return packing;
    }

    /** The store it is in. */
    ArrayStore store() {
        return store;
    }

    /** The array and its store, as messages begin. */
    String subject() {
        return subject(store, array);
    }

    private static String subject(ArrayStore store, StoredArray array) {
        return store.title() + ": '" + array.name() + "'";
    }

    /** Index of a dimension in the array, or {@link #ABSENT}. */
    int dim(Role role) {
        return dims[role.ordinal()];
    }

    /** Its times in seconds since 1970, rising; empty if it does not depend on time. */
    long[] times() {
        return times;
    }

    /** Its levels in hPa; empty if it has none. */
    double[] levels() {
        return levels;
    }

    /** Degrees north. */
    double[] latitudes() {
        return latitudes;
    }

    /** Degrees east. */
    double[] longitudes() {
        return longitudes;
    }

    /** Its attribute {@code units}; empty if it has none. */
    Optional<String> unit() {
        return array.attributes().text("units").filter(unit -> !unit.isBlank());
    }

    private long[] times(StoredArray time) {
        String subject = subject(store, time);
        long[] seconds = CfTime.decode(subject, time.attributes().text("units").orElse(""),
            time.attributes().text("calendar").orElse("standard"), read(time));
        for (int i = 1; i < seconds.length; i++) {
            if (seconds[i] <= seconds[i - 1]) {
                throw new UserException(subject + (seconds[i] == seconds[i - 1] ? " holds the same time twice: "
                    : " runs backwards: ") + CfTime.text(seconds[i]) + " at index " + i + ", after "
                    + CfTime.text(seconds[i - 1]) + ". Sort the times and keep each once.");
            }
        }
        return seconds;
    }

    private double[] levels(StoredArray level) {
        String unit = level.attributes().text("units").orElse("hPa");
        double factor = switch (CfUnit.normal(unit)) {
            case "{hPa=1}" -> 1;
            case "{Pa=1}" -> 0.01;
            default -> throw new UserException(subject(store, level) + " is in '" + unit
                + "', expected pressure levels in hPa or Pa. Interpolate the data to pressure levels.");
        };
        double[] values = Arrays.stream(read(level)).map(value -> value * factor).toArray();
        for (int i = 0; i < values.length; i++) {
            for (int k = 0; k < i; k++) {
                if (values[i] == values[k]) {
                    throw new UserException(subject(store, level) + " holds the level " + values[i] + " hPa twice, at "
                        + "index " + k + " and " + i + ". Keep each level once.");
                }
            }
        }
        return values;
    }

    private double[] read(StoredArray coordinate) {
        String subject = subject(store, coordinate);
        long count = StoredArray.elements(coordinate.shape());
        if (count == 0 || count > MOST_COORDINATES) {
            throw new UserException(subject + " has " + count + " values, expected 1 to " + MOST_COORDINATES
                + ". Download or make the file again.");
        }
        double[] values = new double[(int) count];
        MemorySegment elements = MemorySegment.ofArray(new byte[Math.toIntExact(count * coordinate.type().bytes())]);
        coordinate.read(new int[coordinate.shape().length], coordinate.shape(), elements);
        coordinate.type().widen(elements, 0, values.length, values);
        double scale = coordinate.attributes().numbers("scale_factor").map(numbers -> numbers[0]).orElse(1.0);
        double offset = coordinate.attributes().numbers("add_offset").map(numbers -> numbers[0]).orElse(0.0);
        for (int i = 0; i < values.length; i++) {
            values[i] = values[i] * scale + offset;
            if (!Double.isFinite(values[i])) {
                throw new UserException(subject + " holds " + values[i] + " at index " + i
                    + ", which is no coordinate. Download or make the file again.");
            }
        }
        return values;
    }

    /** Its levels as text: {@code 1000, 850 hPa}; empty if it has none. */
    String levelText() {
        return levels.length == 0 ? "" : Arrays.stream(levels).mapToObj(GriddedArray::plain)
            .collect(Collectors.joining(", ", " at ", " hPa"));
    }

    /** A number without a fraction that is zero. */
    static String plain(double number) {
        return number == Math.rint(number) && Math.abs(number) < 1e15 ? Long.toString((long) number)
            : Double.toString(number);
    }
}
