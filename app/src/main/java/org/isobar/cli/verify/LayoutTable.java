package org.isobar.cli.verify;

import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

import org.isobar.verify.layout.LayoutDeviation;

/** Table of the results of a layout check: one line for each comparison, grouped by the layer. */
record LayoutTable(List<LayoutDeviation> results) {
    private static final String SEPARATOR = ": "; // between group and comparison
    private static final String HEADER = "||difference|| / ||whole||";

    /** Whether every comparison holds. */
    boolean holds() {
        return results.stream().allMatch(LayoutDeviation::isWithinTolerance);
    }

    void print(PrintWriter out) {
        int width = results.stream().mapToInt(result -> inner(result).length()).reduce(HEADER.length(), Math::max);
        String row = "  %-" + width + "s  %-7s  %-7s  %s";
        out.println(row.formatted(HEADER, "error", "allowed", "").stripTrailing());
        String group = "";
        for (LayoutDeviation result : results) {
            String next = result.what().substring(0, result.what().indexOf(SEPARATOR));
            if (!next.equals(group)) {
                out.println(next);
                group = next;
            }
            out.println(row.formatted(inner(result), number(result.error()), number(result.tolerance()),
                result.isWithinTolerance() ? "ok" : "FAILED"));
        }
        out.printf("%d comparisons, %d failed%n", results.size(),
            results.stream().filter(result -> !result.isWithinTolerance()).count());
        out.flush();
    }

    /** What is compared, without the group. */
    private static String inner(LayoutDeviation result) {
        return result.what().substring(result.what().indexOf(SEPARATOR) + SEPARATOR.length());
    }

    private static String number(double value) {
        return value == 0 ? "0" : String.format(Locale.ROOT, "%.1e", value);
    }
}
