package org.isobar.bench.measure;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.os.ProcessMemory;

/**
 * One part of a benchmark, as {@code parts.tsv} has it: a line of columns with tabs between them, "-" for what is not
 * known. {@code bench/gpu.sh} writes five, {@code bench cpu} adds the memory of processes.
 *
 * @param name    also the stem of the file that it wrote
 * @param result  {@link #OK}, {@link #FAILED} or {@link #SKIPPED}
 * @param seconds that it took; null where not measured
 * @param peakMib most memory of the device in MiB while it ran, as nvidia-smi has it; null where nobody looked
 * @param reason  why it failed or was skipped; empty if it did not
 * @param memory  the most of the part's processes; null where nobody looked
 */
public record BenchmarkPart(String name, String result, Double seconds, Double peakMib, String reason,
    ProcessMemory memory) {
    /** It did what it was to do. */
    public static final String OK = "ok";
    /** It did not, or not in time. */
    public static final String FAILED = "failed";
    /** It was not begun. */
    public static final String SKIPPED = "skipped";
    private static final int COLUMNS = 5;

    /** The part of a line. */
    public static BenchmarkPart of(String line) {
        List<String> columns = List.of(line.split("\t", -1));
        return new BenchmarkPart(columns.get(0), columns.get(1), number(columns.get(2)), number(columns.get(3)),
            columns.size() < COLUMNS ? "" : columns.get(4), columns.size() <= COLUMNS ? null
                : memory(columns.subList(COLUMNS, columns.size())));
    }

    /** Its line. */
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
