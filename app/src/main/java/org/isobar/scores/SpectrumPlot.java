package org.isobar.scores;

import java.util.Arrays;
import java.util.List;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * SVG plot of zonal power spectra, a panel for each variable, both axes logarithmic: the truth, and the model's
 * forecast at the first, the middle and the last lead.
 */
public final class SpectrumPlot {
    private static final int SIDE = 240; // of a panel's axes, in pixels
    private static final int LEFT = 70;
    private static final int TOP = 70;
    private static final int GAP = 90;
    private static final int MOST_COLUMNS = 3;
    private static final SvgCanvas.Stroke TRUTH = new SvgCanvas.Stroke(SvgCanvas.INK, "");
    private static final List<SvgCanvas.Stroke> LEADS = List.of(new SvgCanvas.Stroke("#2ca02c", "2,3"),
        new SvgCanvas.Stroke("#3987e5", "8,4"), new SvgCanvas.Stroke("#d95926", "8,3,2,3"));

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
        plot.canvas.legend(LEFT, TOP - 40.0, Stream.concat(Stream.of(TRUTH), LEADS.stream()).toList(),
            Stream.concat(Stream.of("truth"), plot.leads().mapToObj(lead -> PlotAxis.label(report.hours(lead))
                + " h")).toList());
        int columns = Math.min(MOST_COLUMNS, variables.size());
        for (int i = 0; i < variables.size(); i++) {
            plot.panel(variables.get(i), LEFT + i % columns * (SIDE + GAP), TOP + i / columns * (SIDE + GAP));
        }
        int rows = (variables.size() + columns - 1) / columns;
        return plot.canvas.svg("Zonal power spectra", LEFT + columns * (SIDE + GAP) - GAP / 2.0,
            TOP + rows * (SIDE + GAP) - GAP / 3.0);
    }

    private IntStream leads() {
        return IntStream.of(1, (report.leads() + 1) / 2, report.leads()).distinct();
    }

    private void panel(String name, int left, int top) {
        double[][] forecasts = leads()
            .mapToObj(lead -> mean(SpectrumMeans.Side.FORECAST, lead, name)).toArray(double[][]::new);
        double[] truth = mean(SpectrumMeans.Side.TRUTH, report.leads(), name);
        double[] wavenumbers = IntStream.rangeClosed(1, truth.length).mapToDouble(k -> k).toArray();
        PlotAxis x = PlotAxis.around(Arrays.stream(wavenumbers), left, SIDE,
            PlotAxis.Scale.LOGARITHMIC);
        PlotAxis y = PlotAxis.around(DoubleStream.concat(Arrays.stream(truth),
            Arrays.stream(forecasts).flatMapToDouble(Arrays::stream)), top + SIDE, -SIDE,
            PlotAxis.Scale.LOGARITHMIC);
        canvas.axes(x, y);
        canvas.text(left, top - 12.0, SvgCanvas.Anchor.START, name + ": power"
            + (report.unit(name).isEmpty() ? "" : " in (" + report.unit(name) + ")²"));
        canvas.text(left + SIDE / 2.0, top + SIDE + 36.0, SvgCanvas.Anchor.MIDDLE, "zonal wavenumber");
        curve(truth, TRUTH, x, y);
        for (int i = 0; i < forecasts.length; i++) {
            curve(forecasts[i], LEADS.get(i), x, y);
        }
    }

    /**
     * A spectrum without wavenumber 0, which a logarithmic axis does not have, and without the Nyquist wavenumber: its
     * power is that of one coefficient, all others have that of two.
     */
    private double[] mean(SpectrumMeans.Side side, int lead, String name) {
        double[] all = spectra.mean(side, lead, report.variables().indexOf(name), report.initialTimes().size());
        return Arrays.copyOfRange(all, 1, Math.max(2, spectra.hasNyquist() ? all.length - 1 : all.length));
    }

    private void curve(double[] power, SvgCanvas.Stroke stroke, PlotAxis x, PlotAxis y) {
        double[] across = IntStream.rangeClosed(1, power.length).mapToDouble(x::at).toArray();
        canvas.polyline(across, Arrays.stream(power).map(y::at).toArray(), stroke);
    }
}
