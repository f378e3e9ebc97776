package org.isobar.bench.measure;

import java.util.Arrays;
import java.util.List;
import java.util.function.DoubleUnaryOperator;

/**
 * Median, range and quartiles of repeated measurements. Quantiles are interpolated linearly, as numpy does by default.
 *
 * @param count         number of measurements
 * @param median        median
 * @param low           minimum
 * @param high          maximum
 * @param lowerQuartile 25th percentile
 * @param upperQuartile 75th percentile
 */
public record Spread(int count, double median, double low, double high, double lowerQuartile, double upperQuartile) {
    private static final double MIDDLE = 0.5;
    private static final double QUARTER = 0.25;

    /** Computes the spread of at least one value. */
    public static Spread of(double... values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return new Spread(sorted.length, quantile(sorted, MIDDLE), sorted[0], sorted[sorted.length - 1],
            quantile(sorted, QUARTER), quantile(sorted, 1 - QUARTER));
    }

    /** Computes the spread of at least one value. */
    public static Spread of(List<Double> values) {
        return of(values.stream().mapToDouble(Double::doubleValue).toArray());
    }

    /** Applies {@code function} to the values and computes their spread; returns null in a rehearsal. */
    static Spread of(double[] values, Timing timing, DoubleUnaryOperator function) {
        return timing == Timing.REHEARSED ? null : of(Arrays.stream(values).map(function).toArray());
    }

    private static double quantile(double[] sorted, double fraction) {
        double position = fraction * (sorted.length - 1);
        int below = (int) position;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
    }
}
