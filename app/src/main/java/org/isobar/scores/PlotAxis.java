package org.isobar.scores;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.DoubleStream;

/**
 * An axis of a plot.
 *
 * @param low         value at the origin; its base-10 logarithm on a logarithmic axis
 * @param high        value at the other end; likewise
 * @param origin      position of the origin in pixels
 * @param length      pixels; negative if positions fall with values
 * @param logarithmic whether the axis is logarithmic
 */
record PlotAxis(double low, double high, double origin, double length, boolean logarithmic) {
    private static final int MOST_TICKS = 6;
    private static final double[] STEPS = {1, 2, 5};
    private static final double TEN = 10;

    /** An axis that shows all finite values; only positive ones if it is logarithmic. */
    static PlotAxis around(DoubleStream values, double origin, double length, boolean logarithmic) {
        double[] shown = values.filter(value -> Double.isFinite(value) && (!logarithmic || value > 0))
            .map(value -> logarithmic ? Math.log10(value) : value).toArray();
        double low = Arrays.stream(shown).min().orElse(0);
        double high = Arrays.stream(shown).max().orElse(1);
        return new PlotAxis(low, high > low ? high : low + 1, origin, length, logarithmic);
    }

    /** Position of a value; NaN if it cannot be shown. */
    double at(double value) {
        double linear = logarithmic ? Math.log10(value) : value;
        double position = origin + length * (linear - low) / (high - low);
        return Double.isFinite(position) ? position : Double.NaN;
    }

    /** Round values within the axis; powers of ten if it is logarithmic. */
    double[] ticks() {
        double step = step();
        List<Double> ticks = new ArrayList<>();
        for (double tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) {
            ticks.add(logarithmic ? Math.pow(TEN, tick) : tick + 0.0); // 0 for -0
        }
        return ticks.stream().mapToDouble(Double::doubleValue).toArray();
    }

    /** A tick as text. */
    static String label(double tick) {
        double size = Math.abs(tick);
        if (size != 0 && (size < 1e-3 || size >= 1e6)) {
            return String.format(Locale.ROOT, "%.0e", tick);
        }
        return String.format(Locale.ROOT, "%.6f", tick).replaceAll("\\.?0+$", "");
    }

    private double step() {
        double least = (high - low) / MOST_TICKS;
        double power = Math.pow(TEN, Math.floor(Math.log10(least)));
        double step = Arrays.stream(STEPS).map(factor -> factor * power).filter(s -> s >= least).findFirst()
            .orElse(TEN * power);
        return logarithmic ? Math.max(1, Math.rint(step)) : step;
    }
}
