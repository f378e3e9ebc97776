package org.isobar.data;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

import io.jhdf.api.Attribute;
import io.jhdf.api.Dataset;
import io.jhdf.api.Node;

/**
 * What describes a data set of an HDF5 file: the one-dimensional data sets beside it, and its own attributes that are
 * lists of texts. What cannot be read is left out, since it does not spoil the data.
 *
 * @param texts   lists of texts, by the names of data sets or attributes; a data set hides an attribute of its name
 * @param numbers one-dimensional data sets of numbers, by name
 * @param units   attribute {@code units} of the data sets beside it, by name
 */
record Hdf5Companions(Map<String, List<String>> texts, Map<String, double[]> numbers, Map<String, String> units) {
    private static final String UNITS = "units";
    private static final double CIRCLE = 360;
    private static final List<String> NAMES = List.of("channel", UNITS, "time", "timestamp", "lat", "lon");

    /**
     * Reads the companions of a data set.
     *
     * @param nodes  the objects beside it, by name
     * @param fields the data set
     */
    static Hdf5Companions of(Map<String, Node> nodes, Dataset fields) {
        Hdf5Companions found = new Hdf5Companions(new HashMap<>(), new HashMap<>(), new HashMap<>());
        try {
            fields.getAttributes().forEach((name, attribute) -> found.add(name, attribute.getData()));
        } catch (RuntimeException unreadable) { // jHDF: HdfException, but also others in damaged files
            found.texts.clear();
        }
        for (String name : NAMES) {
            try {
                if (nodes.get(name) instanceof Dataset dataset && dataset.getDimensions().length == 1) {
                    found.add(name, dataset.getData());
                    Attribute unit = dataset.getAttribute(UNITS);
                    if (unit != null && unit.getData() instanceof String text) {
                        found.units.put(name, text);
                    }
                }
            } catch (RuntimeException unreadable) {
                found.texts.remove(name);
                found.numbers.remove(name);
            }
        }
        return found;
    }

    private void add(String name, Object data) {
        switch (data) {
            case String[] list -> texts.put(name, List.of(list));
            case double[] list -> numbers.put(name, list);
            case float[] list -> numbers.put(name, IntStream.range(0, list.length).mapToDouble(i -> list[i]).toArray());
            case long[] list -> numbers.put(name, LongStream.of(list).asDoubleStream().toArray());
            case int[] list -> numbers.put(name, IntStream.of(list).asDoubleStream().toArray());
            case null, default -> { }
        }
    }

    /** The first of these lists of texts that has {@code count} of them; empty if there is none. */
    List<String> texts(int count, String... names) {
        for (String name : names) {
            List<String> list = texts.getOrDefault(name, List.of());
            if (list.size() == count) {
                return list;
            }
        }
        return List.of();
    }

    /**
     * The first coordinate that is more than some cells from another one, as text; 360 degrees more are the same place.
     *
     * @param what   latitude or longitude
     * @param line   row or column
     * @param own    degrees
     * @param others degrees of the same rows or columns, of which there may be more or fewer
     * @param other  what has the others
     */
    static Optional<String> displaced(String what, String line, double[] own, double[] others, double cells,
        String other) {
        int count = Math.min(own.length, others.length);
        double cell = count == 1 ? CIRCLE : Math.abs(others[count - 1] - others[0]) / (count - 1);
        return IntStream.range(0, count)
            .filter(i -> Math.abs(Math.IEEEremainder(own[i] - others[i], CIRCLE)) > cells * cell)
            .mapToObj(i -> what + " " + own[i] + " in " + line + " " + i + ", where " + other + " has " + others[i])
            .findFirst();
    }

    /** The numbers of a data set, if it has {@code count} finite ones. */
    Optional<double[]> numbers(String name, int count) {
        return Optional.ofNullable(numbers.get(name))
            .filter(list -> list.length == count && DoubleStream.of(list).allMatch(Double::isFinite));
    }
}
