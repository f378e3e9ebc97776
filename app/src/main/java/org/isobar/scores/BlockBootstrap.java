package org.isobar.scores;

import java.time.Duration;
import java.time.LocalDateTime;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;

import org.isobar.random.Philox;

/**
 * Confidence intervals of averages over initial times by a block bootstrap. Forecasts of neighbouring days have similar
 * errors, so whole blocks of ten days are drawn with replacement, as many as there are (H. R. Künsch, "The jackknife
 * and the bootstrap for general stationary observations", Annals of Statistics 17, 1989). Blocks do not overlap and are
 * counted from the first initial time; the last may be shorter. A resample takes the same blocks from all series, so
 * that differences between forecasts are paired.
 */
public final class BlockBootstrap {
    /** Length of a block. */
    public static final Duration BLOCK = Duration.ofDays(10);
    /** Number of resamples. */
    public static final int RESAMPLES = 1000;

    private static final double TAIL = 0.025;

    private final int[] blockOf; // each initial time's block, counted from 0 without gaps
    private final int[][] draws; // (RESAMPLES, blocks): how often each block is in a resample; empty: no intervals

    /**
     * Draws the resamples.
     *
     * @param initialTimes in increasing order
     * @param seed         the same seed draws the same blocks
     */
    public BlockBootstrap(List<LocalDateTime> initialTimes, long seed) {
        blockOf = new int[initialTimes.size()];
        long previous = 0;
        int blocks = 0;
        for (int i = 0; i < blockOf.length; i++) {
            long number = Duration.between(initialTimes.getFirst(), initialTimes.get(i)).dividedBy(BLOCK);
            blocks += i == 0 || number != previous ? 1 : 0;
            blockOf[i] = blocks - 1;
            previous = number;
        }
        draws = blocks < 2 ? new int[0][] : draw(blocks, seed);
    }

    private static int[][] draw(int blocks, long seed) {
        Philox.Key key = Philox.Key.of(seed, "bootstrap");
        int[][] draws = new int[RESAMPLES][blocks];
        for (int resample = 0; resample < RESAMPLES; resample++) {
            for (int i = 0; i < blocks; i++) {
                draws[resample][(int) (Philox.uniform(key.at(resample), i) * blocks)]++;
            }
        }
        return draws;
    }

    /**
     * Estimates a statistic of averages. The interval reaches from the 2.5th to the 97.5th percentile of the resamples.
     *
     * @param statistic the statistic as a function of the averages of all series, in their order
     * @param series    each (initial times)
     */
    public Estimate estimate(ToDoubleFunction<double[]> statistic, double[]... series) {
        double[] means = Arrays.stream(series).mapToDouble(BlockBootstrap::mean).toArray();
        double value = statistic.applyAsDouble(means);
        if (draws.length == 0) {
            return new Estimate(value, Double.NaN, Double.NaN);
        }
        double[][] sums = Arrays.stream(series).map(this::blockSums).toArray(double[][]::new);
        double[] sizes = blockSizes();
        double[] resampled = new double[RESAMPLES];
        for (int resample = 0; resample < RESAMPLES; resample++) {
            double count = dot(draws[resample], sizes);
            for (int s = 0; s < series.length; s++) {
                means[s] = dot(draws[resample], sums[s]) / count;
            }
            resampled[resample] = statistic.applyAsDouble(means);
        }
        Arrays.sort(resampled); // NaN last
        return Double.isNaN(resampled[RESAMPLES - 1]) ? new Estimate(value, Double.NaN, Double.NaN)
            : new Estimate(value, percentile(resampled, TAIL), percentile(resampled, 1 - TAIL));
    }

    /** Number of blocks; with fewer than two there are no intervals. */
    public int blocks() {
        return blockOf.length == 0 ? 0 : blockOf[blockOf.length - 1] + 1;
    }

    private static double mean(double[] series) {
        double sum = 0;
        for (double value : series) {
            sum += value;
        }
        return sum / series.length;
    }

    private double[] blockSums(double[] series) {
        double[] sums = new double[blocks()];
        for (int i = 0; i < blockOf.length; i++) {
            sums[blockOf[i]] += series[i];
        }
        return sums;
    }

    private double[] blockSizes() {
        double[] sizes = new double[blocks()];
        for (int block : blockOf) {
            sizes[block]++;
        }
        return sizes;
    }

    private static double dot(int[] counts, double[] values) {
        double sum = 0;
        for (int i = 0; i < counts.length; i++) {
            sum += counts[i] * values[i];
        }
        return sum;
    }

    /** The percentile of sorted values, interpolated linearly. */
    private static double percentile(double[] sorted, double fraction) {
        double position = fraction * (sorted.length - 1);
        int below = (int) position;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
    }
}
