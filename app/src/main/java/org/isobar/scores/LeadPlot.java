package org.isobar.scores;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/**
 * SVG plot of a metric against the lead, a panel for each variable. Shaded bands are the 95 % intervals of model,
 * persistence and climatology.
 */
public final class LeadPlot {
    private static final int WIDTH = 300; // of a panel's axes, in pixels
    private static final int HEIGHT = 180;
    private static final int LEFT = 70;
    private static final int TOP = 50;
    private static final int GAP = 80;
    private static final int MOST_COLUMNS = 3;
    private static final int LINE_HEIGHT = 16;
    private static final Map<ForecastKind, String> COLORS = Map.of(ForecastKind.MODEL, "#3987e5",
        ForecastKind.PERSISTENCE, "#d95926", ForecastKind.CLIMATOLOGY, "#2ca02c");

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
        int columns = Math.min(MOST_COLUMNS, variables.size());
        for (int i = 0; i < variables.size(); i++) {
            plot.panel(variables.get(i), LEFT + i % columns * (WIDTH + GAP), TOP + i / columns * (HEIGHT + GAP));
        }
        int rows = (variables.size() + columns - 1) / columns;
        return plot.canvas.svg(metric + " against lead", LEFT + columns * (WIDTH + GAP), TOP + rows * (HEIGHT + GAP));
    }

    private void panel(String variable, int left, int top) {
        double[] hours = IntStream.rangeClosed(1, report.leads()).mapToDouble(report::hours).toArray();
        List<ForecastKind> drawn = Arrays.stream(ForecastKind.values()).filter(COLORS::containsKey)
            .filter(forecast -> Arrays.stream(report.byLead(forecast, variable, metric))
                .anyMatch(estimate -> Double.isFinite(estimate.value()))).toList();
        DoubleStream values = drawn.stream().flatMap(f -> Arrays.stream(report.byLead(f, variable, metric)))
            .flatMapToDouble(e -> DoubleStream.of(e.value(), e.low(), e.high()));
        PlotAxis x = PlotAxis.around(DoubleStream.concat(DoubleStream.of(0), Arrays.stream(hours)), left, WIDTH, false);
        PlotAxis y = PlotAxis.around(values, top + HEIGHT, -HEIGHT, false);
        axes(variable, x, y, left, top);
        double[] across = Arrays.stream(hours).map(x::at).toArray();
        for (int i = 0; i < drawn.size(); i++) {
            String color = COLORS.get(drawn.get(i));
            Estimate[] estimates = report.byLead(drawn.get(i), variable, metric);
            canvas.band(across, Arrays.stream(estimates).mapToDouble(e -> y.at(e.low())).toArray(),
                Arrays.stream(estimates).mapToDouble(e -> y.at(e.high())).toArray(), color);
            canvas.polyline(across, Arrays.stream(estimates).mapToDouble(e -> y.at(e.value())).toArray(), color);
            canvas.text(left + WIDTH + 4, top + LINE_HEIGHT * (i + 1.0), SvgCanvas.Anchor.START,
                drawn.get(i).label(), color);
        }
    }

    private void axes(String variable, PlotAxis x, PlotAxis y, int left, int top) {
        canvas.axes(x, y);
        canvas.text(left, top - 12.0, SvgCanvas.Anchor.START, variable + ": " + metric);
        canvas.text(left + WIDTH / 2.0, top + HEIGHT + 36.0, SvgCanvas.Anchor.MIDDLE, "lead, hours");
    }
}
