package org.isobar.scores;

import java.util.Arrays;
import java.util.List;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/**
 * SVG plot of zonal power spectra, a panel for each variable, both axes logarithmic: the truth in the colour of the
 * axes, the model's forecast at the first, the middle and the last lead.
 */
public final class SpectrumPlot {
    private static final int SIDE = 240; // of a panel's axes, in pixels
    private static final int LEFT = 70;
    private static final int TOP = 50;
    private static final int GAP = 110;
    private static final int MOST_COLUMNS = 3;
    private static final int LINE_HEIGHT = 16;
    private static final List<String> COLORS = List.of("#9ec5f4", "#3987e5", "#184f95");

    private final ScoreReport report;
    private final SpectrumMeans spectra;
    private final SvgCanvas canvas = new SvgCanvas();

    private SpectrumPlot(ScoreReport report, SpectrumMeans spectra) {
        this.report = report;
        this.spectra = spectra;
    }

    /**
     * Draws a plot.
     *
     * @param variables names of the variables that are drawn
     */
    public static String svg(ScoreReport report, SpectrumMeans spectra, List<String> variables) {
        SpectrumPlot plot = new SpectrumPlot(report, spectra);
        int columns = Math.min(MOST_COLUMNS, variables.size());
        for (int i = 0; i < variables.size(); i++) {
            plot.panel(variables.get(i), LEFT + i % columns * (SIDE + GAP), TOP + i / columns * (SIDE + GAP));
        }
        int rows = (variables.size() + columns - 1) / columns;
        return plot.canvas.svg("Zonal power spectra", LEFT + columns * (SIDE + GAP), TOP + rows * (SIDE + GAP));
    }

    private void panel(String name, int left, int top) {
        int[] leads = IntStream.of(1, (report.leads() + 1) / 2, report.leads()).distinct().toArray();
        double[][] forecasts = Arrays.stream(leads)
            .mapToObj(lead -> mean(SpectrumMeans.Side.FORECAST, lead, name)).toArray(double[][]::new);
        double[] truth = mean(SpectrumMeans.Side.TRUTH, report.leads(), name);
        double[] wavenumbers = IntStream.rangeClosed(1, truth.length).mapToDouble(k -> k).toArray();
        PlotAxis x = PlotAxis.around(Arrays.stream(wavenumbers), left, SIDE, true);
        PlotAxis y = PlotAxis.around(DoubleStream.concat(Arrays.stream(truth),
            Arrays.stream(forecasts).flatMapToDouble(Arrays::stream)), top + SIDE, -SIDE, true);
        canvas.axes(x, y);
        canvas.text(left, top - 12.0, SvgCanvas.Anchor.START, name + ": power");
        canvas.text(left + SIDE / 2.0, top + SIDE + 36.0, SvgCanvas.Anchor.MIDDLE, "zonal wavenumber");
        curve(truth, "truth", SvgCanvas.INK, x, y, top + LINE_HEIGHT);
        for (int i = 0; i < leads.length; i++) {
            curve(forecasts[i], PlotAxis.label(report.hours(leads[i])) + " h", COLORS.get(i), x, y,
                top + LINE_HEIGHT * (i + 2));
        }
    }

    /** A spectrum without wavenumber 0, which a logarithmic axis does not have. */
    private double[] mean(SpectrumMeans.Side side, int lead, String name) {
        double[] all = spectra.mean(side, lead, report.variables().indexOf(name), report.initialTimes().size());
        return Arrays.copyOfRange(all, 1, all.length);
    }

    private void curve(double[] power, String label, String color, PlotAxis x, PlotAxis y, double labelBase) {
        double[] across = IntStream.rangeClosed(1, power.length).mapToDouble(x::at).toArray();
        canvas.polyline(across, Arrays.stream(power).map(y::at).toArray(), color);
        canvas.text(x.origin() + SIDE + 6, labelBase, SvgCanvas.Anchor.START, label, color);
    }
}
