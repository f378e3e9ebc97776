package org.isobar.scores;

/**
 * Weights of the rows of a latitude grid by the area of their cells, as in WeatherBench 2: the difference of
 * sin(latitude) at the bounds of the cell, divided by the mean over all rows. Bounds are midpoints between neighbouring
 * rows. The outermost bounds are the poles; of a region, whose outermost rows lie more than 1.5 steps from them, they
 * are half a step beyond these rows.
 */
public final class AreaWeights {
    private static final double POLE = 90;
    private static final double WIDEST_GAP = 1.5; // steps between a pole and the outermost row of a global grid

    private AreaWeights() { }

    /**
     * The weights of rows, in their order; their mean is 1.
     *
     * @param latitudes (H), degrees north, all increasing or all decreasing
     * @throws IllegalArgumentException if there are fewer than two rows, or they have no such order, or one is not
     * between the poles
     */
    public static double[] of(double[] latitudes) {
        int rows = latitudes.length;
        double direction = requireOrder(latitudes);
        double[] weights = new double[rows];
        double sum = 0;
        double before = Math.sin(Math.toRadians(outermost(latitudes[0], latitudes[1], -direction * POLE)));
        for (int row = 0; row < rows; row++) {
            double bound = row == rows - 1 ? outermost(latitudes[row], latitudes[row - 1], direction * POLE)
                : (latitudes[row] + latitudes[row + 1]) / 2;
            double after = Math.sin(Math.toRadians(bound));
            weights[row] = direction * (after - before);
            sum += weights[row];
            before = after;
        }
        for (int row = 0; row < rows; row++) {
            weights[row] *= rows / sum;
        }
        return weights;
    }

    /** The bound of the cell of an outermost row on the side of a pole. */
    private static double outermost(double latitude, double neighbour, double pole) {
        double step = latitude - neighbour;
        return Math.abs(pole - latitude) <= WIDEST_GAP * Math.abs(step) ? pole : latitude + step / 2;
    }

    /**
     * The latitudes of rows from north to south by the tutorial's rule, {@code 90 - 180 j / (rows - 1)}: for data that
     * do not name theirs.
     *
     * @return (rows), degrees north
     */
    public static double[] tutorialLatitudes(int rows) {
        double[] latitudes = new double[rows];
        for (int row = 0; row < rows; row++) {
            latitudes[row] = POLE - 2 * POLE * row / (rows - 1);
        }
        return latitudes;
    }

    /** Returns 1 for rows from south to north, -1 for rows from north to south. */
    private static double requireOrder(double[] latitudes) {
        if (latitudes.length < 2) {
            throw new IllegalArgumentException("a latitude grid has two rows at least, not " + latitudes.length);
        }
        double direction = Math.signum(latitudes[1] - latitudes[0]);
        for (int row = 0; row < latitudes.length; row++) {
            boolean ordered = row == 0 || direction * (latitudes[row] - latitudes[row - 1]) > 0;
            if (!ordered || !(Math.abs(latitudes[row]) <= POLE)) {
                throw new IllegalArgumentException("latitude " + latitudes[row] + " in row " + row
                    + " is out of order or not between the poles");
            }
        }
        return direction;
    }
}
