package org.isobar.bench.report;

import static org.isobar.bench.report.MarkdownTable.number;
import static org.isobar.bench.report.Units.MEGA;
import static org.isobar.bench.report.Units.MILLI;
import static org.isobar.bench.report.Units.quotient;

import java.util.List;
import java.util.Locale;

/** Tables of the cost of a step by model sizes and by the number of ranks. */
final class GrowthTable {
    private GrowthTable() { }

    /** Cost by model sizes; empty if not measured. */
    static String models(List<GrowthSeries> all) {
        if (all.stream().noneMatch(series -> series.split().isEmpty())) {
            return "";
        }
        MarkdownTable table = new MarkdownTable("what grows", "", "step, ms", "power", "tensors, MB", "power",
            "anonymous memory, MB", "power");
        for (GrowthSeries series : all.stream().filter(each -> each.split().isEmpty()).toList()) {
            List<GrowthSeries.Point> points = series.points();
            for (int i = 0; i < points.size(); i++) {
                GrowthSeries.Point point = points.get(i);
                GrowthSeries.Point before = i == 0 ? null : points.get(i - 1);
                table.row(series.axis(), String.valueOf(point.value()),
                    number("%.2f", point.seconds(), MILLI),
                    before == null ? "" : power(GrowthSeries.power(before, point, before.seconds(), point.seconds())),
                    number("%.1f", point.tensors(), MEGA),
                    before == null ? "" : power(GrowthSeries.power(before, point, before.tensors(), point.tensors())),
                    number("%.0f", point.anonymous(), MEGA),
                    before == null ? ""
                        : power(GrowthSeries.power(before, point, before.anonymous(), point.anonymous())));
            }
        }
        return table.toString();
    }

    /** Cost by the number of ranks; empty if not measured. */
    static String ranks(List<GrowthSeries> all) {
        MarkdownTable table = new MarkdownTable("ranks", "share", "step, ms", "/ one rank's",
            "CPU time, ms", "/ one rank's", "anonymous memory of all, MB");
        List<GrowthSeries> splits = all.stream().filter(series -> series.split().isPresent()).toList();
        for (GrowthSeries series : splits) {
            GrowthSeries.Point alone = series.points().getFirst();
            for (GrowthSeries.Point point : series.points()) {
                table.row(String.valueOf(point.value()), series.split().orElseThrow(),
                    number("%.2f", point.seconds(), MILLI),
                    number("%.2f", quotient(point.seconds(), alone.seconds()), 1),
                    number("%.0f", point.cpu(), MILLI),
                    number("%.2f", quotient(point.cpu(), alone.cpu()), 1),
                    number("%.0f", point.anonymous(), MEGA));
            }
        }
        return splits.isEmpty() ? "" : table.toString();
    }

    private static String power(Double power) {
        return power == null ? "" : String.format(Locale.ROOT, "%.2f", power);
    }
}
