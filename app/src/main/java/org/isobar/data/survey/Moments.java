package org.isobar.data.survey;

/**
 * Number, mean, squared deviations and extremes of numbers, in double precision. Numbers are added in blocks: the
 * deviations of a block are taken from one of its values, and blocks are merged by the formula of Chan, Golub and
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
        double shift = values[0];
        double sum = 0; // four sums at a time, which do not wait for each other
        double sum1 = 0;
        double sum2 = 0;
        double sum3 = 0;
        double square = 0;
        double square1 = 0;
        double square2 = 0;
        double square3 = 0;
        int i = 0;
        for (; i <= n - 4; i += 4) {
            double a = values[i] - shift;
            double b = values[i + 1] - shift;
            double c = values[i + 2] - shift;
            double d = values[i + 3] - shift;
            sum += a;
            sum1 += b;
            sum2 += c;
            sum3 += d;
            square += a * a;
            square1 += b * b;
            square2 += c * c;
            square3 += d * d;
        }
        for (; i < n; i++) {
            double a = values[i] - shift;
            sum += a;
            square += a * a;
        }
        sum += sum1 + (sum2 + sum3);
        square += square1 + (square2 + square3);
        merge(n, shift + sum / n, Math.max(0, square - sum / n * sum));
        extremes(values, n);
        return Double.isFinite(sum);
    }

    private void extremes(float[] values, int n) {
        float low = least;
        float high = greatest;
        for (int i = 0; i < n; i++) {
            low = Math.min(low, values[i]);
            high = Math.max(high, values[i]);
        }
        least = low;
        greatest = high;
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
}
