package org.isobar.device;

/**
 * Weights of the rows of a regular latitude grid that reaches from pole to pole:
 * {@code w(j) = H cos(3.1416/180 lat(j)) / sum_j cos(3.1416/180 lat(j))}, {@code lat(j) = 90 - 180 j / (H - 1)}.
 *
 * <p>3.1416 is the tutorial's: it makes the weight of the poles about -4e-6 of the equator's, and not zero. Scores stay
 * comparable with the tutorial's for that.
 */
public final class LatitudeWeights {
    /** The tutorial's, for back ends that work out the weights themselves. */
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
