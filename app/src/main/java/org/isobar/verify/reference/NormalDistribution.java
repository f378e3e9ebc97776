package org.isobar.verify.reference;

/** The standard normal distribution in double precision, to about fourteen digits. */
public final class NormalDistribution {
    /** Above this argument the continued fraction converges faster than the series. */
    private static final double SERIES_ENDS = 3;
    private static final int FRACTION_TERMS = 120;

    private NormalDistribution() { }

    /** phi(x): its density. */
    public static double density(double x) {
        return Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
    }

    /** Phi(x): the probability of a value up to {@code x}. */
    public static double cumulative(double x) {
        return x < 0 ? upperTail(-x) : 1 - upperTail(x);
    }

    private static double upperTail(double x) {
        return x < SERIES_ENDS ? 0.5 - density(x) * series(x) : density(x) * continuedFraction(x);
    }

    /** (Phi(x) - 1/2) / phi(x) = x + x^3 / 3 + x^5 / (3 5) + ... (Abramowitz and Stegun, 26.2.11). */
    private static double series(double x) {
        double sum = 0;
        double term = x;
        for (int k = 3; term > sum * 0x1p-54; k += 2) {
            sum += term;
            term *= x * x / k;
        }
        return sum;
    }

    /** Mills' ratio as 1 / (x + 1 / (x + 2 / (x + 3 / ...))) (Abramowitz and Stegun, 26.2.14). */
    private static double continuedFraction(double x) {
        double tail = x;
        for (int k = FRACTION_TERMS; k >= 1; k--) {
            tail = x + k / tail;
        }
        return 1 / tail;
    }
}
