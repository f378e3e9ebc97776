package org.isobar.bench.report;

import static org.isobar.bench.report.MarkdownTable.number;
import static org.isobar.bench.report.Units.GIGA;
import static org.isobar.bench.report.Units.TERA;

import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Stream;

import org.isobar.bench.measure.CeilingsResult;
import org.isobar.bench.measure.Spread;

/** Table of the ceilings that each program measured. */
final class CeilingsTable {
    private final List<CeilingsResult> results;

    CeilingsTable(Collection<CeilingsResult> results) {
        this.results = List.copyOf(results);
    }

    /** The highest rate of all programs: of matrix products in that type, or of copies if it is null. */
    Double highest(String products) {
        return results.stream().map(result -> products == null ? result.copy() : result.products().get(products))
            .filter(Objects::nonNull).map(Spread::median).max(Double::compare).orElse(null);
    }

    @Override
    public String toString() {
        boolean slow = results.stream().flatMap(result -> result.products().values().stream())
            .filter(Objects::nonNull).allMatch(rate -> rate.median() < TERA);
        MarkdownTable table = new MarkdownTable("what", "measured by", "median", "quartiles");
        for (CeilingsResult result : results) {
            String by = Stream.of(result.program(), result.device()).filter(Objects::nonNull)
                .reduce((program, device) -> program + " on " + device).orElseThrow();
            row(table, String.format(Locale.ROOT, "copy of %.2f GB, GB/s", result.copied() / GIGA), by, result.copy(),
                GIGA);
            result.products().forEach((name, rate) -> row(table, "product of %d x %d, %s, %s".formatted(result.size(),
                result.size(), name, slow ? "GFLOP/s" : "TFLOP/s"), by, rate, slow ? GIGA : TERA));
        }
        return table.toString();
    }

    private static void row(MarkdownTable table, String what, String by, Spread rate, double unit) {
        table.row(what, by, number("%.1f", rate == null ? null : rate.median(), unit),
            rate == null ? number("", null, 1) : String.format(Locale.ROOT, "%.1f-%.1f", rate.lowerQuartile() / unit,
                rate.upperQuartile() / unit));
    }
}
