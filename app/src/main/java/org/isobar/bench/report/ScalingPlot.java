package org.isobar.bench.report;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.DoubleUnaryOperator;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;

import org.isobar.scores.PlotAxis;
import org.isobar.scores.SvgCanvas;

/**
 * The curves of a scaling study: throughput, efficiency, time of a step and memory against ranks, a curve for each
 * axis; the validation loss against samples and against time, a curve for each run. Curves differ in colour and dashes.
 */
final class ScalingPlot {
    private static final int WIDTH = 250; // of a panel's axes, in pixels
    private static final int HEIGHT = 170;
    private static final int LEFT = 60;
    private static final int TOP = 70;
    private static final int COLUMN = WIDTH + 75;
    private static final int ROW = HEIGHT + 130;
    private static final int COLUMNS = 3;
    private static final int IN_LEGEND = 3;
    private static final int LINE = 15;
    private static final int MARK = 6;
    private static final double GIB = 0x1p30;
    private static final double PERCENT = 100;
    private static final List<String> COLORS =
        List.of("#3987e5", "#d95926", "#2ca02c", "#9467bd", "#b8860b", "#17929e");
    private static final List<String> DASHES = List.of("", "8,4", "2,3", "8,3,2,3", "12,3", "4,2");
    private static final SvgCanvas.Stroke IDEAL = new SvgCanvas.Stroke(SvgCanvas.INK, "1,4");

    private final String preset;
    private final List<ScalingRun> runs; // the first is that of the fewest ranks
    private final SvgCanvas canvas = new SvgCanvas();

    private ScalingPlot(String preset, List<ScalingRun> runs) {
        this.preset = preset;
        this.runs = runs;
    }

    /** What a panel's horizontal axis has. */
    private enum Against {
        RANKS("ranks"), SAMPLES("samples"), SECONDS("seconds of training");

        private final String label;

        Against(String label) {
            this.label = label;
        }
    }

    /** A curve: its name and its points. */
    private record Curve(String name, double[] x, double[] y, SvgCanvas.Stroke stroke) { }

    /** Draws runs of a preset; the others are compared with the first. */
    static String svg(String preset, List<ScalingRun> runs) {
        return new ScalingPlot(preset, runs).svg();
    }

    private String svg() {
        ScalingRun one = runs.getFirst();
        byRanks(0, "samples per second; dotted: ideal", ScalingRun::samplesPerSecond,
            ranks -> one.samplesPerSecond() * ranks / one.ranks());
        byRanks(1, "efficiency, %; dotted: ideal", run -> PERCENT * run.efficiency(one), _ -> PERCENT);
        byRanks(2, "time of a step, ms", ScalingRun::stepMillis, null);
        losses(3, Against.SAMPLES, ScalingRun.Epoch::samples);
        losses(4, Against.SECONDS, ScalingRun.Epoch::seconds);
        byRanks(5, "memory of a rank, planned, GB", run -> run.planned() / GIB, null);
        return canvas.svg("Scaling of preset " + preset, LEFT + COLUMNS * COLUMN - 30.0, TOP + 2.0 * ROW - 70);
    }

    /** Strokes differ as long as there are no more of them than pairs of a colour and a dash. */
    private static SvgCanvas.Stroke stroke(int number) {
        return new SvgCanvas.Stroke(COLORS.get(number % COLORS.size()),
            DASHES.get((number + number / COLORS.size()) % DASHES.size()));
    }

    private List<String> axes() {
        List<String> axes = runs.stream().map(ScalingRun::axis).filter(axis -> !axis.isEmpty()).distinct()
            .toList();
        return axes.isEmpty() ? List.of("") : axes;
    }

    private void byRanks(int place, String title, ToDoubleFunction<ScalingRun> quantity,
        DoubleUnaryOperator ideal) {
        List<Curve> curves = new ArrayList<>();
        for (String axis : axes()) {
            List<ScalingRun> along = runs.stream().filter(run -> run.axis().isEmpty() || run.axis().equals(axis))
                .sorted(Comparator.comparing(ScalingRun::ranks)).toList();
            curves.add(new Curve(axis.isEmpty() ? "1 rank" : axis, ranks(along),
                along.stream().mapToDouble(quantity).toArray(), stroke(curves.size())));
        }
        double[] all = ranks(runs);
        if (ideal != null) {
            curves.add(new Curve("", all, DoubleStream.of(all).map(ideal).toArray(), IDEAL));
        }
        panel(place, title, curves, Against.RANKS);
    }

    private static double[] ranks(List<ScalingRun> runs) {
        return runs.stream().mapToDouble(ScalingRun::ranks).sorted().distinct().toArray();
    }

    private void losses(int place, Against against, ToDoubleFunction<ScalingRun.Epoch> position) {
        List<Curve> curves = new ArrayList<>();
        for (ScalingRun run : runs) {
            List<ScalingRun.Epoch> epochs = run.epochs().stream().filter(epoch -> epoch.samples() > 0).toList();
            curves.add(new Curve(run.name(), epochs.stream().mapToDouble(position).toArray(),
                epochs.stream().mapToDouble(ScalingRun.Epoch::validLoss).toArray(),
                stroke(curves.size())));
        }
        panel(place, "validation loss against " + against.label, curves, against);
    }

    /** Draws axes, curves with their points, and the legend. Quantities against ranks begin at 0. */
    private void panel(int place, String title, List<Curve> curves, Against against) {
        double left = LEFT + place % COLUMNS * COLUMN;
        double top = TOP + place / COLUMNS * ROW;
        DoubleStream xs = curves.stream().flatMapToDouble(curve -> DoubleStream.of(curve.x()));
        DoubleStream ys = curves.stream().flatMapToDouble(curve -> DoubleStream.of(curve.y()));
        PlotAxis x = PlotAxis.around(DoubleStream.concat(DoubleStream.of(0), xs), left, WIDTH, PlotAxis.Scale.LINEAR);
        PlotAxis y = PlotAxis.around(against == Against.RANKS ? DoubleStream.concat(DoubleStream.of(0), ys) : ys,
            top + HEIGHT, -HEIGHT, PlotAxis.Scale.LINEAR);
        canvas.axes(x, y);
        canvas.text(left + WIDTH, top + HEIGHT + 36, SvgCanvas.Anchor.END, against.label);
        for (Curve curve : curves) {
            curve(curve, x, y);
        }
        legend(left, top, title, curves.stream().filter(curve -> !curve.name().isEmpty()).toList());
    }

    private void curve(Curve curve, PlotAxis x, PlotAxis y) {
        double[] px = DoubleStream.of(curve.x()).map(x::at).toArray();
        double[] py = DoubleStream.of(curve.y()).map(y::at).toArray();
        canvas.polyline(px, py, curve.stroke());
        for (int i = 0; i < px.length && !curve.name().isEmpty(); i++) {
            if (Double.isFinite(py[i])) {
                canvas.rectangle(px[i] - MARK / 2.0, py[i] - MARK / 2.0, MARK, MARK, curve.stroke().color(),
                    curve.name() + ": " + PlotAxis.label(curve.y()[i]) + " at " + PlotAxis.label(curve.x()[i]));
            }
        }
    }

    /** Title and legend above a panel; the legend has as many rows as it needs. */
    private void legend(double left, double top, String title, List<Curve> curves) {
        int rows = Math.ceilDiv(curves.size(), IN_LEGEND);
        canvas.text(left, top - LINE * rows - 18, SvgCanvas.Anchor.START, title);
        for (int row = 0; row < rows; row++) {
            List<Curve> some = curves.subList(row * IN_LEGEND, Math.min(curves.size(), (row + 1) * IN_LEGEND));
            canvas.legend(left + 8, top - LINE * (rows - row), some.stream().map(Curve::stroke).toList(),
                some.stream().map(Curve::name).toList());
        }
    }
}
