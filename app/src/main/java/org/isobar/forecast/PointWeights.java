package org.isobar.forecast;

import java.util.Arrays;
import java.util.stream.IntStream;

import org.isobar.fault.UserException;
import org.isobar.pretrained.ModelGrid;

/**
 * Interpolates fields of a grid to a point, linearly in latitude and in longitude. Longitudes wrap round a grid that
 * closes the circle. Between the outermost row and the pole, the value at the pole is the mean of that row.
 */
final class PointWeights {
    private static final double POLE = 90;
    private static final double CIRCLE = 360;
    /** A grid reaches round the circle, or to a pole, if what is missing is no wider than this many cells. */
    private static final double WIDEST_GAP = 1.5;

    private final int[] pixels; // indices into a field, (H, W)
    private final double[] weights; // of these pixels; their sum is 1

    /** Two neighbours on an axis, and the share of the second; neighbour -1 is the pole. */
    private record Bracket(int first, int second, double share) { }

    /**
     * The weights of a point.
     *
     * @throws UserException if it lies outside a grid that does not cover the globe
     */
    PointWeights(PlacePoint point, ModelGrid grid) {
        double[] latitudes = grid.latitudes().stream().mapToDouble(Double::doubleValue).toArray();
        double[] longitudes = grid.longitudes().stream().mapToDouble(Double::doubleValue).toArray();
        Bracket rows = rows(latitudes, point);
        Bracket columns = columns(longitudes, point);
        int width = longitudes.length;
        int[] pole = rows.second < 0 ? IntStream.range(0, width).map(i -> rows.first * width + i).toArray()
            : new int[] {rows.second * width + columns.first, rows.second * width + columns.second};
        double[] far = new double[pole.length];
        if (rows.second < 0) {
            Arrays.fill(far, rows.share / width);
        } else {
            far[0] = rows.share * (1 - columns.share);
            far[1] = rows.share * columns.share;
        }
        pixels = IntStream.concat(IntStream.of(rows.first * width + columns.first,
            rows.first * width + columns.second), Arrays.stream(pole)).toArray();
        weights = new double[pixels.length];
        weights[0] = (1 - rows.share) * (1 - columns.share);
        weights[1] = (1 - rows.share) * columns.share;
        System.arraycopy(far, 0, weights, 2, far.length);
    }

    private static Bracket rows(double[] latitudes, PlacePoint point) {
        double wanted = point.latitude();
        double widest = POLE;
        for (int row = 1; row < latitudes.length; row++) {
            double step = latitudes[row] - latitudes[row - 1];
            widest = row == 1 ? Math.abs(step) : Math.max(widest, Math.abs(step));
            double share = (wanted - latitudes[row - 1]) / step;
            if (share >= 0 && share <= 1) {
                return new Bracket(row - 1, row, share);
            }
        }
        int last = latitudes.length - 1;
        int outermost = Math.abs(wanted - latitudes[0]) <= Math.abs(wanted - latitudes[last]) ? 0 : last;
        double gap = POLE - Math.abs(latitudes[outermost]);
        if (gap > WIDEST_GAP * widest || wanted * latitudes[outermost] < 0) {
            throw outside(point, "latitudes", latitudes);
        }
        double share = gap == 0 ? 0 : (Math.abs(wanted) - Math.abs(latitudes[outermost])) / gap;
        return new Bracket(outermost, -1, Math.clamp(share, 0, 1));
    }

    private static Bracket columns(double[] longitudes, PlacePoint point) {
        int last = longitudes.length - 1;
        double widest = longitudes.length == 1 ? CIRCLE : 0;
        double east = (point.longitude() - longitudes[0]) % CIRCLE;
        double wanted = longitudes[0] + (east < 0 ? east + CIRCLE : east);
        for (int column = 1; column <= last; column++) {
            double step = longitudes[column] - longitudes[column - 1];
            widest = Math.max(widest, step);
            if (wanted <= longitudes[column]) {
                return new Bracket(column - 1, column, Math.max(0, (wanted - longitudes[column - 1]) / step));
            }
        }
        double gap = longitudes[0] + CIRCLE - longitudes[last];
        if (gap > WIDEST_GAP * widest) {
            throw outside(point, "longitudes", longitudes);
        }
        return new Bracket(last, 0, Math.min(1, (wanted - longitudes[last]) / gap));
    }

    private static UserException outside(PlacePoint point, String what, double[] coordinates) {
        return new UserException("--points " + point.name() + ":" + point.latitude() + "," + point.longitude()
            + " lies outside the " + what + " of the model, " + coordinates[0] + " to "
            + coordinates[coordinates.length - 1] + "; give a place inside");
    }

    /**
     * The value at the point.
     *
     * @param field (H, W)
     */
    float at(float[] field) {
        double sum = 0;
        for (int i = 0; i < pixels.length; i++) {
            sum += weights[i] * field[pixels[i]];
        }
        return (float) sum;
    }
}
