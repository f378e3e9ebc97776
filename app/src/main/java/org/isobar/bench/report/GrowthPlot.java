package org.isobar.bench.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * SVG 1.1 plot of the cost of a step against model sizes and the number of ranks. Each quantity has a column with two
 * panels: time above, memory below. Both axes are logarithmic with the same scale in all panels, so that slopes can be
 * compared. The colours are visible on white and on black.
 */
final class GrowthPlot {
    private static final int SIDE = 180; // width and height of a panel in pixels
    private static final int LEFT = 70;
    private static final int TOP = 30;
    private static final int GAP = 70;
    private static final String INK = "#808080";
    private static final List<String> COLORS = List.of("#3987e5", "#d95926");

    private final List<List<GrowthSeries>> columns;
    private final double doubling; // pixels per factor of two
    private final StringBuilder svg = new StringBuilder();

    /** Creates a plot; all series of ranks share a column. */
    GrowthPlot(List<GrowthSeries> all) {
        columns = new ArrayList<>(all.stream().filter(series -> series.split().isEmpty()).map(List::of).toList());
        List<GrowthSeries> ranks = all.stream().filter(series -> series.split().isPresent()).toList();
        if (!ranks.isEmpty()) {
            columns.add(ranks);
        }
        double longest = Stream.<Function<GrowthSeries.Point, Double>>of(point -> Double.valueOf(point.value()),
            GrowthSeries.Point::seconds, GrowthSeries.Point::anonymous).flatMap(quantity -> columns.stream()
            .map(column -> values(column, quantity))).filter(values -> values.length > 0)
            .mapToDouble(values -> LogScale.log(values[values.length - 1] / values[0])).max().orElse(0);
        doubling = SIDE / (longest + 1);
    }

    /** Known values, sorted. */
    private static double[] values(List<GrowthSeries> lines, Function<GrowthSeries.Point, Double> quantity) {
        return lines.stream().flatMap(line -> line.points().stream()).map(quantity).filter(Objects::nonNull)
            .mapToDouble(Double::doubleValue).sorted().distinct().toArray();
    }

    /** Returns the plot; empty if nothing was measured. */
    String svg() {
        if (columns.stream().flatMap(List::stream).flatMap(series -> series.points().stream())
                .noneMatch(point -> point.seconds() != null)) {
            return "";
        }
        int width = LEFT + columns.size() * (SIDE + GAP);
        int height = TOP + 2 * (SIDE + GAP);
        svg.append(format("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d' "
            + "font-family='sans-serif' font-size='12' fill='%s'>%n", width, height, width, height, INK));
        svg.append("<title>How the time and the memory of a training step grow</title>\n");
        for (int i = 0; i < columns.size(); i++) {
            int x = LEFT + i * (SIDE + GAP);
            panel(columns.get(i), x, TOP, "step, ms", point -> scaled(point.seconds(), Units.MILLI));
            panel(columns.get(i), x, TOP + SIDE + GAP, "anonymous memory, MB",
                point -> scaled(point.anonymous(), Units.MEGA));
        }
        return svg.append("</svg>\n").toString();
    }

    private static Double scaled(Double value, double unit) {
        return value == null ? null : Double.valueOf(value / unit);
    }

    private void panel(List<GrowthSeries> lines, int left, int top, String title,
        Function<GrowthSeries.Point, Double> quantity) {
        double[] values = values(lines, point -> Double.valueOf(point.value()));
        double[] heights = values(lines, quantity);
        if (heights.length == 0) {
            return;
        }
        LogScale x = LogScale.around(values, doubling, left, 1);
        LogScale y = LogScale.around(heights, doubling, top + SIDE, -1);
        svg.append(format("<path d='M%d,%d v%d h%d' fill='none' stroke='%s'/>%n", left, top, SIDE, SIDE, INK));
        text(left - 55, top - 10, "start", title);
        text(left + SIDE / 2, top + SIDE + 34, "middle", name(lines));
        for (double value : values) {
            svg.append(format("<path d='M%.1f,%d v5' stroke='%s'/>%n", x.at(value), top + SIDE, INK));
            text(x.at(value), top + SIDE + 18, "middle", format("%.0f", value));
        }
        for (double tick : y.ticks()) {
            svg.append(format("<path d='M%d,%.1f h-5' stroke='%s'/>%n", left, y.at(tick), INK));
            text(left - 8, y.at(tick) + 4, "end", tick < 1 ? format("%.3f", tick) : format("%.0f", tick));
        }
        for (int i = 0; i < lines.size(); i++) {
            line(lines.get(i), COLORS.get(i), x, y, quantity);
        }
        for (int i = 0; lines.size() > 1 && i < lines.size(); i++) {
            svg.append(format("<text x='%d' y='%d' fill='%s'>%s</text>%n", left + SIDE - 24, top + 14 + 16 * i,
                COLORS.get(i), lines.get(i).split().orElseThrow()));
        }
    }

    private static String name(List<GrowthSeries> lines) {
        return lines.size() > 1 ? "ranks" : lines.getFirst().axis();
    }

    private void line(GrowthSeries series, String color, LogScale x, LogScale y,
        Function<GrowthSeries.Point, Double> quantity) {
        StringBuilder path = new StringBuilder();
        for (GrowthSeries.Point point : series.points()) {
            Double value = quantity.apply(point);
            if (value != null) {
                path.append(format(path.isEmpty() ? "M%.1f,%.1f" : " L%.1f,%.1f", x.at(point.value()), y.at(value)));
                svg.append(format("<circle cx='%.1f' cy='%.1f' r='3.5' fill='%s'/>%n", x.at(point.value()),
                    y.at(value), color));
            }
        }
        svg.append(format("<path d='%s' fill='none' stroke='%s' stroke-width='2'/>%n", path, color));
    }

    private void text(double x, double y, String anchor, String content) {
        svg.append(format("<text x='%.1f' y='%.1f' text-anchor='%s'>%s</text>%n", x, y, anchor, content));
    }

    private static String format(String pattern, Object... values) {
        return String.format(Locale.ROOT, pattern, values);
    }

    /**
     * A logarithmic axis.
     *
     * @param low       base-2 logarithm of the value at the origin
     * @param doubling  pixels per factor of two
     * @param origin    position of the origin in pixels
     * @param direction 1 if positions grow with values, else -1
     */
    private record LogScale(double low, double doubling, int origin, int direction) {
        /** Creates an axis with the sorted values in its middle. */
        static LogScale around(double[] sorted, double doubling, int origin, int direction) {
            double middle = (log(sorted[0]) + log(sorted[sorted.length - 1])) / 2;
            return new LogScale(middle - SIDE / doubling / 2, doubling, origin, direction);
        }

        double at(double value) {
            return origin + direction * doubling * (log(value) - low);
        }

        /** The powers of two on the axis. */
        double[] ticks() {
            return IntStream.rangeClosed((int) Math.ceil(low), (int) Math.floor(low + SIDE / doubling))
                .mapToDouble(power -> Math.pow(2, power)).toArray();
        }

        static double log(double value) {
            return Math.log(value) / Math.log(2);
        }
    }
}
