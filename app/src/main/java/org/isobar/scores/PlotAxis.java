package org.isobar.scores;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.DoubleStream;

/**
 * An axis of a plot.
 *
 * @param low    value at the origin; its base-10 logarithm on a logarithmic axis
 * @param high   value at the other end; likewise
 * @param origin position of the origin in pixels
 * @param length pixels; negative if positions fall with values
 * @param scale  how values become positions
 */
public record PlotAxis(double low, double high, double origin, double length, Scale scale) {
    private static final int MOST_TICKS = 6;
    private static final double[] STEPS = {1, 2, 5};
    private static final double[] DAY_PARTS = {6, 12}; // hours
    private static final double DAY = 24; // hours
    private static final double TEN = 10;

    /** What positions are proportional to, and where ticks are. */
    public enum Scale {
        /** Values; ticks are round numbers. */
        LINEAR,
        /** Values in hours; ticks are parts of a day, or days. */
        HOURS,
        /** Logarithms of values; ticks are powers of ten, and 2 and 5 times these where there is room. */
        LOGARITHMIC
    }

    /** An axis that shows all finite values; only positive ones if it is logarithmic. */
    public static PlotAxis around(DoubleStream values, double origin, double length, Scale scale) {
        boolean logarithmic = scale == Scale.LOGARITHMIC;
        double[] shown = values.filter(value -> Double.isFinite(value) && (!logarithmic || value > 0))
            .map(value -> logarithmic ? Math.log10(value) : value).toArray();
        double low = Arrays.stream(shown).min().orElse(0);
        double high = Arrays.stream(shown).max().orElse(1);
        return new PlotAxis(low, high > low ? high : low + 1, origin, length, scale);
    }

    /** Position of a value; NaN if it cannot be shown. */
    public double at(double value) {
        double linear = scale == Scale.LOGARITHMIC ? Math.log10(value) : value;
        double position = origin + length * (linear - low) / (high - low);
        return Double.isFinite(position) ? position : Double.NaN;
    }

    /** Values within the axis that are labelled. */
    public double[] ticks() {
        if (scale == Scale.LOGARITHMIC) {
            return logarithmicTicks();
        }
        double step = step();
        List<Double> ticks = new ArrayList<>();
        for (double tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) {
            ticks.add(tick + 0.0); // 0 for -0
        }
        return ticks.stream().mapToDouble(Double::doubleValue).toArray();
    }

    private double[] logarithmicTicks() {
        boolean roomy = high - low <= 2; // decades
        int every = roomy ? 1 : (int) Math.ceil((high - low) / MOST_TICKS);
        DoubleStream.Builder ticks = DoubleStream.builder();
        for (int power = (int) Math.floor(low); power <= high; power++) {
            for (double factor : STEPS) {
                double tick = factor * Math.pow(TEN, power);
                boolean wanted = roomy || factor == 1 && Math.floorMod(power, every) == 0;
                if (wanted && Math.log10(tick) >= low && Math.log10(tick) <= high) {
                    ticks.add(tick);
                }
            }
        }
        return ticks.build().toArray();
    }

    /** A tick as text. */
    public static String label(double tick) {
        double size = Math.abs(tick);
        if (size != 0 && (size < 1e-3 || size >= 1e6)) {
            return String.format(Locale.ROOT, "%.0e", tick);
        }
        return String.format(Locale.ROOT, "%.6f", tick).replaceAll("\\.?0+$", "");
    }

    private double step() {
        double least = (high - low) / MOST_TICKS;
        if (scale == Scale.HOURS) {
            return Arrays.stream(DAY_PARTS).filter(s -> s >= least).findFirst()
                .orElseGet(() -> DAY * Math.max(1, round(least / DAY)));
        }
        return round(least);
    }

    /** The smallest 1, 2 or 5 times a power of ten that is not below a number. */
    private static double round(double least) {
        double power = Math.pow(TEN, Math.floor(Math.log10(least)));
        return Arrays.stream(STEPS).map(factor -> factor * power).filter(s -> s >= least).findFirst()
            .orElse(TEN * power);
    }
}
