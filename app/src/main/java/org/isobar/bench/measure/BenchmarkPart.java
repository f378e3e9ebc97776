package org.isobar.bench.measure;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.os.ProcessMemory;

/**
 * One part of a benchmark. {@code parts.tsv} has one line for each part, with columns separated by tabs and "-" for
 * unknown values. {@code bench/gpu.sh} writes five columns; {@code bench cpu} adds three with the memory of processes.
 *
 * @param name    name of the part and of its result file without the suffix
 * @param result  {@link #OK}, {@link #FAILED} or {@link #SKIPPED}
 * @param seconds run time; null if not measured
 * @param peakMib peak device memory in MiB according to nvidia-smi; null if not measured
 * @param reason  why the part failed or was skipped; otherwise empty
 * @param memory  peak memory of the processes of the part; null if not measured
 */
public record BenchmarkPart(String name, String result, Double seconds, Double peakMib, String reason,
    ProcessMemory memory) {
    /** The part succeeded. */
    public static final String OK = "ok";
    /** The part failed or exceeded its time limit. */
    public static final String FAILED = "failed";
    /** The part was not started. */
    public static final String SKIPPED = "skipped";
    private static final int COLUMNS = 5;

    /** Parses a line. */
    public static BenchmarkPart of(String line) {
        List<String> columns = List.of(line.split("\t", -1));
        return new BenchmarkPart(columns.get(0), columns.get(1), number(columns.get(2)), number(columns.get(3)),
            columns.size() < COLUMNS ? "" : columns.get(4), columns.size() <= COLUMNS ? null
                : memory(columns.subList(COLUMNS, columns.size())));
    }

    /** Formats the line of this part. */
    public String line() {
        Stream<Object> bytes = memory == null ? Stream.empty()
            : Stream.of(memory.anonymous(), memory.files(), memory.peak());
        return Stream.concat(Stream.of(name, result, text(seconds), text(peakMib), reason.replaceAll("\\s+", " ")),
            bytes).map(String::valueOf).collect(Collectors.joining("\t"));
    }

    private static ProcessMemory memory(List<String> columns) {
        long[] bytes = columns.stream().mapToLong(Long::parseLong).toArray();
        if (bytes.length != 3) {
            throw new NumberFormatException("memory of a part: " + Arrays.toString(bytes));
        }
        return new ProcessMemory(bytes[0], bytes[1], bytes[2]);
    }

    private static Double number(String text) {
        return text.equals("-") ? null : Double.valueOf(text);
    }

    private static String text(Double number) {
        return number == null ? "-" : String.format(Locale.ROOT, "%.3f", number);
    }
}
