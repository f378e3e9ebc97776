package org.isobar.device;

/**
 * Quadrature weights of the rows of a regular latitude grid from pole to pole:
 * {@code w(j) = H cos(3.1416/180 lat(j)) / sum_j cos(3.1416/180 lat(j))}, {@code lat(j) = 90 - 180 j / (H - 1)}.
 *
 * <p>3.1416 is the tutorial's value of pi. With it the weight of the poles is about -4e-6 of the equator's instead of
 * zero. It is kept so that scores stay comparable with the tutorial's.
 */
public final class LatitudeWeights {
    /** The tutorial's conversion factor, for back ends that compute the weights themselves. */
    public static final double RADIANS_PER_DEGREE = 3.1416 / 180;

    private static final double POLE = 90;

    private LatitudeWeights() { }

    /**
     * The weights of {@code height} rows from north to south; their mean is 1.
     *
     * @throws IllegalArgumentException if there are fewer than two rows
     */
    public static double[] of(int height) {
        if (height < 2) {
            throw new IllegalArgumentException("a grid from pole to pole has two rows at least, not " + height);
        }
        double[] weights = new double[height];
        double sum = 0;
        for (int row = 0; row < height; row++) {
            weights[row] = Math.cos(RADIANS_PER_DEGREE * (POLE - 2 * POLE * row / (height - 1)));
            sum += weights[row];
        }
        for (int row = 0; row < height; row++) {
            weights[row] = weights[row] * height / sum;
        }
        return weights;
    }
}
