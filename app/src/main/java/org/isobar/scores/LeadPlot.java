package org.isobar.scores;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/**
 * SVG plot of a metric against the lead, a panel for each variable. Shaded bands are the 95 % intervals of model,
 * persistence and climatology. The axis of a score that has a best value, 0 for errors and 1 for {@code acc}, has it.
 */
public final class LeadPlot {
    private static final int WIDTH = 300; // of a panel's axes, in pixels
    private static final int HEIGHT = 180;
    private static final int LEFT = 70;
    private static final int TOP = 70;
    private static final int GAP = 80;
    private static final int MOST_COLUMNS = 3;
    private static final Map<ForecastKind, SvgCanvas.Stroke> STROKES = Map.of(
        ForecastKind.MODEL, new SvgCanvas.Stroke("#3987e5", ""),
        ForecastKind.PERSISTENCE, new SvgCanvas.Stroke("#d95926", "8,4"),
        ForecastKind.CLIMATOLOGY, new SvgCanvas.Stroke("#2ca02c", "2,3"));

    private static final Map<String, Double> BEST = Map.of(ScoreSummary.RMSE, 0.0, "mae", 0.0, "acc", 1.0);
    private static final Set<String> METRICS_IN_UNITS = Set.of(ScoreSummary.RMSE, "mae", "bias", "activity");

    private final ScoreReport report;
    private final String metric;
    private final SvgCanvas canvas = new SvgCanvas();

    private LeadPlot(ScoreReport report, String metric) {
        this.report = report;
        this.metric = metric;
    }

    /**
     * Draws a plot.
     *
     * @param variables names of the variables that are drawn
     * @param metric    name of a metric of the report
     */
    public static String svg(ScoreReport report, List<String> variables, String metric) {
        LeadPlot plot = new LeadPlot(report, metric);
        List<ForecastKind> kinds = plot.drawn(variables);
        plot.canvas.legend(LEFT, TOP - 40.0, kinds.stream().map(STROKES::get).toList(),
            kinds.stream().map(ForecastKind::label).toList());
        int columns = Math.min(MOST_COLUMNS, variables.size());
        for (int i = 0; i < variables.size(); i++) {
            plot.panel(variables.get(i), LEFT + i % columns * (WIDTH + GAP), TOP + i / columns * (HEIGHT + GAP));
        }
        int rows = (variables.size() + columns - 1) / columns;
        return plot.canvas.svg(metric + " against lead", LEFT + columns * (WIDTH + GAP) - GAP / 2.0,
            TOP + rows * (HEIGHT + GAP) - GAP / 3.0);
    }

    /** The forecasts that have the metric. */
    private List<ForecastKind> drawn(List<String> variables) {
        return Arrays.stream(ForecastKind.values()).filter(STROKES::containsKey)
            .filter(forecast -> variables.stream().flatMap(v -> Arrays.stream(report.byLead(forecast, v, metric)))
                .anyMatch(estimate -> Double.isFinite(estimate.value()))).toList();
    }

    private void panel(String variable, int left, int top) {
        double[] hours = IntStream.rangeClosed(1, report.leads()).mapToDouble(report::hours).toArray();
        List<ForecastKind> drawn = drawn(List.of(variable));
        DoubleStream values = drawn.stream().flatMap(f -> Arrays.stream(report.byLead(f, variable, metric)))
            .flatMapToDouble(e -> DoubleStream.of(e.value(), e.low(), e.high()));
        DoubleStream best = BEST.containsKey(metric) ? DoubleStream.of(BEST.get(metric)) : DoubleStream.empty();
        PlotAxis x = PlotAxis.around(DoubleStream.concat(DoubleStream.of(0), Arrays.stream(hours)), left, WIDTH,
            PlotAxis.Scale.HOURS);
        PlotAxis y = PlotAxis.around(DoubleStream.concat(values, best), top + HEIGHT, -HEIGHT, PlotAxis.Scale.LINEAR);
        axes(variable, x, y, left, top);
        double[] across = Arrays.stream(hours).map(x::at).toArray();
        for (ForecastKind forecast : drawn) {
            SvgCanvas.Stroke stroke = STROKES.get(forecast);
            Estimate[] estimates = report.byLead(forecast, variable, metric);
            canvas.band(across, Arrays.stream(estimates).mapToDouble(e -> y.at(e.low())).toArray(),
                Arrays.stream(estimates).mapToDouble(e -> y.at(e.high())).toArray(), stroke.color());
            canvas.polyline(across, Arrays.stream(estimates).mapToDouble(e -> y.at(e.value())).toArray(), stroke);
        }
    }

    private void axes(String variable, PlotAxis x, PlotAxis y, int left, int top) {
        canvas.axes(x, y);
        canvas.text(left, top - 12.0, SvgCanvas.Anchor.START, variable + ": " + metric
            + (METRICS_IN_UNITS.contains(metric) ? unit(variable) : ""));
        canvas.text(left + WIDTH / 2.0, top + HEIGHT + 36.0, SvgCanvas.Anchor.MIDDLE, "lead, hours");
    }

    private String unit(String variable) {
        String unit = report.unit(variable);
        return unit.isEmpty() ? "" : " in " + unit;
    }
}
