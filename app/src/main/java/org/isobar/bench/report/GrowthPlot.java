package org.isobar.bench.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Stream;

import org.isobar.scores.PlotAxis;
import org.isobar.scores.SvgCanvas;

/**
 * SVG 1.1 plot of the cost of a step against model sizes and the number of ranks. Each quantity has a column with two
 * panels: time above, memory below. Both axes are logarithmic with the same scale in all panels, so that slopes can be
 * compared.
 */
final class GrowthPlot {
    private static final int SIDE = 180; // width and height of a panel in pixels
    private static final int LEFT = 70;
    private static final int TOP = 30;
    private static final int GAP = 70;
    private static final int MARK = 6;
    private static final List<SvgCanvas.Stroke> STROKES =
        List.of(new SvgCanvas.Stroke("#3987e5", ""), new SvgCanvas.Stroke("#d95926", "8,4"));

    private final List<List<GrowthSeries>> columns;
    private final double decades; // of a panel's axis
    private final SvgCanvas canvas = new SvgCanvas();

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
            .mapToDouble(values -> values[values.length - 1] / values[0]).max().orElse(1);
        decades = Math.log10(2 * longest);
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
        for (int i = 0; i < columns.size(); i++) {
            int x = LEFT + i * (SIDE + GAP);
            panel(columns.get(i), x, TOP, "step, ms", point -> scaled(point.seconds(), Units.MILLI));
            panel(columns.get(i), x, TOP + SIDE + GAP, "anonymous memory, MB",
                point -> scaled(point.anonymous(), Units.MEGA));
        }
        return canvas.svg("How the time and the memory of a training step grow", LEFT + columns.size() * (SIDE + GAP),
            TOP + 2 * (SIDE + GAP));
    }

    private static Double scaled(Double value, double unit) {
        return value == null ? null : Double.valueOf(value / unit);
    }

    private void panel(List<GrowthSeries> lines, int left, int top, String title,
        Function<GrowthSeries.Point, Double> quantity) {
        double[] heights = values(lines, quantity);
        if (heights.length == 0) {
            return;
        }
        double[] sizes = values(lines, point -> Double.valueOf(point.value()));
        PlotAxis x = axis(sizes, left, SIDE);
        PlotAxis y = axis(heights, top + SIDE, -SIDE);
        canvas.axes(x, sizes, y);
        canvas.text(left - 55, top - 10, SvgCanvas.Anchor.START, title);
        canvas.text(left + SIDE / 2.0, top + SIDE + 36, SvgCanvas.Anchor.MIDDLE, name(lines));
        for (int i = 0; i < lines.size(); i++) {
            line(lines.get(i), STROKES.get(i), x, y, quantity);
        }
        if (lines.size() > 1) {
            canvas.legend(left + 10, top + 14, STROKES,
                lines.stream().map(series -> series.split().orElseThrow()).toList());
        }
    }

    /** An axis with sorted values in its middle. */
    private PlotAxis axis(double[] sorted, double origin, double length) {
        double middle = (Math.log10(sorted[0]) + Math.log10(sorted[sorted.length - 1])) / 2;
        return new PlotAxis(middle - decades / 2, middle + decades / 2, origin, length, PlotAxis.Scale.LOGARITHMIC);
    }

    private static String name(List<GrowthSeries> lines) {
        return lines.size() > 1 ? "ranks" : lines.getFirst().axis();
    }

    private void line(GrowthSeries series, SvgCanvas.Stroke stroke, PlotAxis x, PlotAxis y,
        Function<GrowthSeries.Point, Double> quantity) {
        List<GrowthSeries.Point> known = series.points().stream().filter(point -> quantity.apply(point) != null)
            .toList();
        double[] xs = known.stream().mapToDouble(point -> x.at(point.value())).toArray();
        double[] ys = known.stream().mapToDouble(point -> y.at(quantity.apply(point))).toArray();
        canvas.polyline(xs, ys, stroke);
        for (int i = 0; i < xs.length; i++) {
            canvas.rectangle(xs[i] - MARK / 2.0, ys[i] - MARK / 2.0, MARK, MARK, stroke.color(),
                PlotAxis.label(quantity.apply(known.get(i))) + " at " + known.get(i).value());
        }
    }
}
