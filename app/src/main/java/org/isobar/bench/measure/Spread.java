package org.isobar.bench.measure;

import java.util.Arrays;
import java.util.function.DoubleUnaryOperator;

/**
 * Several measurements of one thing. Quantiles lie between the two nearest measurements, as numpy has them.
 *
 * @param count         how many
 * @param median        the one in the middle
 * @param low           the smallest
 * @param high          the largest
 * @param lowerQuartile a quarter of them is smaller
 * @param upperQuartile a quarter of them is larger
 */
public record Spread(int count, double median, double low, double high, double lowerQuartile, double upperQuartile) {
    private static final double MIDDLE = 0.5;
    private static final double QUARTER = 0.25;

    /** The spread of {@code values}, at least one. */
    public static Spread of(double... values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return new Spread(sorted.length, quantile(sorted, MIDDLE), sorted[0], sorted[sorted.length - 1],
            quantile(sorted, QUARTER), quantile(sorted, 1 - QUARTER));
    }

    /** The spread of {@code values}, each put through {@code function}; null if they are a rehearsal's. */
    static Spread of(double[] values, Timing timing, DoubleUnaryOperator function) {
        return timing == Timing.REHEARSED ? null : of(Arrays.stream(values).map(function).toArray());
    }

    private static double quantile(double[] sorted, double share) {
        double place = share * (sorted.length - 1);
        int below = (int) place;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
    }
}
