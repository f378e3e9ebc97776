package org.isobar.data.synthetic;

import java.util.function.DoubleUnaryOperator;

/** Meridional structures of waves: spherical harmonics times an envelope, and their derivatives by latitude. */
final class Harmonics {
    /** Half width of the central difference, in radians: error of order 1e-10 in double precision. */
    private static final double DELTA = 1e-5;

    private Harmonics() { }

    /** Value of a structure and its derivative by latitude at each row. */
    record Profile(double[] value, double[] slope) { }

    /** Computes {@code envelope(lat) * P(n, m, sin lat)} on the rows of a grid. */
    static Profile profile(SphereGrid grid, int n, int m, DoubleUnaryOperator envelope) {
        DoubleUnaryOperator structure = lat -> envelope.applyAsDouble(lat) * legendre(n, m, lat);
        double[] value = new double[grid.height()];
        double[] slope = new double[grid.height()];
        for (int j = 0; j < value.length; j++) {
            double lat = grid.latitude(j);
            value[j] = structure.applyAsDouble(lat);
            slope[j] = (structure.applyAsDouble(lat + DELTA) - structure.applyAsDouble(lat - DELTA)) / (2 * DELTA);
        }
        return new Profile(value, slope);
    }

    /**
     * Associated Legendre function of degree {@code n} and order {@code m} at sin(lat), scaled so that the square of
     * {@code P cos(m lon)} has mean 1 over the sphere. Uses the standard stable recurrence in n (Holmes and
     * Featherstone, "A unified approach to the Clenshaw summation...", J. Geodesy 2002, eq. 11-13).
     */
    static double legendre(int n, int m, double lat) {
        double x = Math.sin(lat);
        double cos = Math.cos(lat);
        double current = 1;
        for (int k = 1; k <= m; k++) {
            current *= cos * (k == 1 ? Math.sqrt(3) : Math.sqrt((2 * k + 1.0) / (2 * k)));
        }
        double previous = 0;
        for (int k = m + 1; k <= n; k++) {
            double a = Math.sqrt((4.0 * k * k - 1) / ((double) k * k - (double) m * m));
            double before = k - 1;
            double b = Math.sqrt((before * before - (double) m * m) / (4 * before * before - 1));
            double next = a * (x * current - b * previous);
            previous = current;
            current = next;
        }
        return current;
    }
}
