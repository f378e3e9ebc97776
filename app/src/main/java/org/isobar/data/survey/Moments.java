package org.isobar.data.survey;

/**
 * Number, mean, squared deviations and extremes of numbers, in double precision. Numbers are added in blocks: the
 * deviations of a block are taken from the block's own mean, and blocks are merged by the formula of Chan, Golub and
 * LeVeque (1983, doi:10.1080/00031305.1983.10483115). So a mean that is large against the deviation costs no digits.
 */
final class Moments {
    private long count;
    private double mean;
    private double squares;
    private float least = Float.POSITIVE_INFINITY;
    private float greatest = Float.NEGATIVE_INFINITY;

    /**
     * Adds the first {@code n} values; n is at least 1.
     *
     * @return whether all of them are finite; the moments are of no use otherwise
     */
    boolean add(float[] values, int n) {
        double blockMean = sum(values, n) / n;
        merge(n, blockMean, squares(values, n, blockMean));
        float low = least;
        float high = greatest;
        for (int i = 0; i < n; i++) {
            low = values[i] < low ? values[i] : low;
            high = values[i] > high ? values[i] : high;
        }
        least = low;
        greatest = high;
        return Double.isFinite(blockMean);
    }

    /** Adds what another has counted. */
    void add(Moments other) {
        merge(other.count, other.mean, other.squares);
        least = Math.min(least, other.least);
        greatest = Math.max(greatest, other.greatest);
    }

    double mean() {
        return mean;
    }

    /** The standard deviation of the numbers themselves: the mean square of their deviations, not that of a sample. */
    double deviation() {
        return Math.sqrt(squares / count);
    }

    double least() {
        return least;
    }

    double greatest() {
        return greatest;
    }

    private void merge(long otherCount, double otherMean, double otherSquares) {
        long all = count + otherCount;
        double delta = otherMean - mean;
        mean += delta * otherCount / all;
        squares += otherSquares + delta * delta * count / all * otherCount;
        count = all;
    }

    /** Four sums at a time, which do not wait for each other. */
    private static double sum(float[] values, int n) {
        double a = 0;
        double b = 0;
        double c = 0;
        double d = 0;
        int i = 0;
        for (; i <= n - 4; i += 4) {
            a += values[i];
            b += values[i + 1];
            c += values[i + 2];
            d += values[i + 3];
        }
        for (; i < n; i++) {
            a += values[i];
        }
        return a + b + (c + d);
    }

    private static double squares(float[] values, int n, double around) {
        double a = 0;
        double b = 0;
        int i = 0;
        for (; i <= n - 2; i += 2) {
            double x = values[i] - around;
            double y = values[i + 1] - around;
            a += x * x;
            b += y * y;
        }
        for (; i < n; i++) {
            double x = values[i] - around;
            a += x * x;
        }
        return a + b;
    }
}
