package org.isobar.plan.machine;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.IntPredicate;

/**
 * Measured times of collectives by operation, nodes, ranks of a node and bytes. Between measurements the logarithm of
 * the time is linear in the logarithms of bytes, of ranks of a node and of nodes.
 *
 * @param times seconds by operation, ranks of a node, nodes and bytes
 */
public record CollectiveTable(Map<String, NavigableMap<Integer, NavigableMap<Integer, NavigableMap<Long, Double>>>>
    times) {
    /** Ending of the name of an operation that runs beside computation: its time is what it adds to that. */
    public static final String OVERLAPPED = "_overlapped";

    /**
     * One measurement.
     *
     * @param operation {@code allreduce}, {@code allgather} or {@code reducescatter}, or one of them with
     *                  {@link #OVERLAPPED}
     * @param nodes     number of nodes
     * @param perNode   ranks of each node
     * @param bytes     bytes of the whole tensor
     * @param seconds   duration
     */
    public record Row(String operation, int nodes, int perNode, long bytes, double seconds) { }

    /** The table of some measurements. */
    public static CollectiveTable of(List<Row> rows) {
        Map<String, NavigableMap<Integer, NavigableMap<Integer, NavigableMap<Long, Double>>>> times = new TreeMap<>();
        rows.forEach(row -> times.computeIfAbsent(row.operation(), _ -> new TreeMap<>())
            .computeIfAbsent(row.perNode(), _ -> new TreeMap<>()).computeIfAbsent(row.nodes(), _ -> new TreeMap<>())
            .put(row.bytes(), row.seconds()));
        return new CollectiveTable(times);
    }

    /**
     * The measurements of a file that is shipped.
     *
     * @throws IllegalArgumentException if there is no such file
     */
    public static List<Row> shipped(String name) {
        List<Row> rows = new ArrayList<>();
        try (InputStream file = CollectiveTable.class.getResourceAsStream(name + ".csv")) {
            if (file == null) {
                throw new IllegalArgumentException("no table " + name);
            }
            BufferedReader reader = new BufferedReader(new InputStreamReader(file, StandardCharsets.UTF_8));
            reader.lines().filter(line -> !line.startsWith("#")).skip(1).map(line -> line.split(","))
                .forEach(cells -> rows.add(new Row(cells[0], Integer.parseInt(cells[1]), Integer.parseInt(cells[2]),
                    Long.parseLong(cells[3]), Double.parseDouble(cells[4]) / 1e6)));
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
        return rows;
    }

    /** The measurements at the numbers of nodes that {@code nodes} accepts. */
    public static CollectiveTable of(List<Row> rows, IntPredicate nodes) {
        return of(rows.stream().filter(row -> nodes.test(row.nodes())).toList());
    }

    /**
     * Seconds of a collective; empty if the operation or so many ranks of a node were not measured.
     *
     * @param bytes bytes of the whole tensor
     */
    public Optional<Double> seconds(String operation, int nodes, int perNode, long bytes) {
        NavigableMap<Integer, NavigableMap<Integer, NavigableMap<Long, Double>>> measured = times.get(operation);
        if (measured == null || perNode > measured.lastKey()) {
            return Optional.empty();
        }
        NavigableMap<Integer, NavigableMap<Long, Double>> exact = measured.get(perNode);
        if (exact != null) {
            return atNodes(exact, nodes, bytes);
        }
        NavigableMap<Integer, Double> byRanks = new TreeMap<>();
        measured.forEach((ranks, table) -> atNodes(table, nodes, bytes)
            .ifPresent(time -> byRanks.put(ranks, time)));
        return byRanks.isEmpty() ? Optional.empty() : Optional.of(between(byRanks, perNode));
    }

    private static Optional<Double> atNodes(NavigableMap<Integer, NavigableMap<Long, Double>> table, int nodes,
        long bytes) {
        if (nodes == 1) { // another network than that between nodes
            return Optional.ofNullable(table.get(1)).map(times -> atBytes(times, bytes));
        }
        NavigableMap<Integer, NavigableMap<Long, Double>> across = table.tailMap(1, false);
        if (across.isEmpty()) {
            return Optional.empty();
        }
        NavigableMap<Integer, Double> byNodes = new TreeMap<>();
        across.forEach((count, times) -> byNodes.put(count, atBytes(times, bytes)));
        return Optional.of(between(byNodes, nodes));
    }

    /** Below the smallest measurement the time is its latency, above the largest it grows with the bytes. */
    private static double atBytes(NavigableMap<Long, Double> times, long bytes) {
        if (bytes <= times.firstKey()) {
            return times.firstEntry().getValue();
        }
        if (bytes >= times.lastKey()) {
            return times.lastEntry().getValue() * bytes / times.lastKey();
        }
        return between(times, bytes);
    }

    /** Interpolates logarithms; beyond the ends, with the slope of the two last points. */
    private static <N extends Number & Comparable<N>> double between(NavigableMap<N, Double> points, N at) {
        if (points.containsKey(at) || points.size() == 1) {
            return points.getOrDefault(at, points.firstEntry().getValue());
        }
        Map.Entry<N, Double> low = points.lowerEntry(at);
        Map.Entry<N, Double> high = points.higherEntry(at);
        if (low == null) {
            low = points.firstEntry();
            high = points.higherEntry(low.getKey());
        } else if (high == null) {
            high = points.lastEntry();
            low = points.lowerEntry(high.getKey());
        }
        double start = Math.log(low.getKey().doubleValue());
        double part = (Math.log(at.doubleValue()) - start) / (Math.log(high.getKey().doubleValue()) - start);
        return Math.exp(Math.log(low.getValue()) * (1 - part) + Math.log(high.getValue()) * part);
    }
}
