package org.isobar.bench;

import java.util.List;

/**
 * One part of a benchmark, as {@code bench/gpu.sh} logs it in {@code parts.tsv}.
 *
 * @param name    also the stem of the file that it wrote
 * @param result  ok, failed or skipped
 * @param seconds that it took; null where not measured
 * @param peakMib most memory of the device in MiB while it ran, as nvidia-smi has it; null where nobody looked
 * @param reason  why it failed or was skipped; empty if it did not
 */
public record Part(String name, String result, Double seconds, Double peakMib, String reason) {
    private static final int COLUMNS = 5;

    /** The part of a line of five columns. */
    static Part of(String line) {
        List<String> columns = List.of(line.split("\t", COLUMNS));
        return new Part(columns.get(0), columns.get(1), number(columns.get(2)), number(columns.get(3)),
            columns.size() < COLUMNS ? "" : columns.get(4));
    }

    private static Double number(String text) {
        return text.equals("-") ? null : Double.valueOf(text);
    }
}
