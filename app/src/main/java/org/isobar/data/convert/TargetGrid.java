package org.isobar.data.convert;

import java.util.Arrays;
import java.util.stream.IntStream;

import org.isobar.fault.UserException;

/**
 * The grid that is written: latitudes from north to south, longitudes eastward, from 0 where they go round the globe.
 * Longitudes always rise: those west of Greenwich are negative if the grid goes on east of it. A cell of a coarser grid
 * is the mean over its points, weighted by their areas: the difference of the sines of the latitudes that are halfway
 * to the neighbours, with the poles as the outermost bounds. Rows and columns at the south and east that fill no whole
 * cell are left out.
 */
final class TargetGrid {
    private static final double TOLERANCE = 1e-3; // degrees; longitudes in single precision are off by 1e-5
    private static final int CIRCLE = 360;

    private final int[] rows; // of the source, for each row before coarsening
    private final int[] columns;
    private final int[] runs; // where in columns each run of neighbours ends
    private final int cell;
    private final double[] weights; // of each row before coarsening
    private final double[] latitudes;
    private final double[] longitudes;

    private TargetGrid(int[] rows, int[] columns, int cell, double[] weights, double[] latitudes, double[] longitudes) {
        this.rows = rows;
        this.columns = columns;
        runs = IntStream.rangeClosed(1, columns.length)
            .filter(i -> i == columns.length || columns[i] != columns[i - 1] + 1).toArray();
        this.cell = cell;
        this.weights = weights;
        this.latitudes = latitudes;
        this.longitudes = longitudes;
    }

    /**
     * Orders and restricts a grid.
     *
     * @param subject the array that has the grid, for messages
     * @param lats    its latitudes
     * @param lons    its longitudes
     * @throws UserException if it cannot be ordered, or nothing is left of it
     */
    static TargetGrid of(String subject, double[] lats, double[] lons, GridRequest request) {
        int[] rows = rows(subject, lats, request);
        int[] columns = columns(subject, lons, request);
        int cell = request.coarsen();
        int height = rows.length / cell;
        int width = columns.length / cell;
        if (height == 0 || width == 0) {
            throw new UserException(subject + " has a grid of " + lats.length + " x " + lons.length + ", of which "
                + rows.length + " x " + columns.length + " are left by --crop: no whole cell of --coarsen=" + cell
                + ". Choose a larger part or smaller cells.");
        }
        double[] weights = weights(lats, rows);
        double[] latitudes = IntStream.range(0, height).mapToDouble(j ->
            mean(IntStream.range(j * cell, (j + 1) * cell).mapToDouble(k -> lats[rows[k]]).toArray())).toArray();
        double[] eastward = eastward(columns, lons);
        double[] longitudes = rising(IntStream.range(0, width).mapToDouble(i ->
            wrapped(mean(Arrays.copyOfRange(eastward, i * cell, (i + 1) * cell)))).toArray());
        return new TargetGrid(Arrays.copyOf(rows, height * cell), Arrays.copyOf(columns, width * cell), cell, weights,
            latitudes, longitudes);
    }

    private static double mean(double[] values) {
        return values.length == 1 ? values[0] : Arrays.stream(values).sum() / values.length;
    }

    private static int[] rows(String subject, double[] lats, GridRequest request) {
        boolean southward = lats.length < 2 || lats[0] > lats[1];
        for (int j = 0; j < lats.length; j++) {
            if (j > 0 && lats[j] == lats[j - 1] || j > 0 && lats[j] < lats[j - 1] != southward
                || Math.abs(lats[j]) > 90 + TOLERANCE) {
                throw new UserException(subject + " has latitudes that do not run from pole to pole: " + lats[j]
                    + " at index " + j + ". Store the field on a grid of latitudes and longitudes.");
            }
        }
        return IntStream.range(0, lats.length).map(j -> southward ? j : lats.length - 1 - j)
            .filter(j -> lats[j] <= request.north() + TOLERANCE && lats[j] >= request.south() - TOLERANCE)
            .limit(request.rows()).toArray();
    }

    private static int[] columns(String subject, double[] lons, GridRequest request) {
        int count = lons.length;
        double step = count < 2 ? CIRCLE : (lons[count - 1] - lons[0]) / (count - 1);
        for (int i = 0; i < count; i++) {
            if (step <= 0 || Math.abs(lons[i] - lons[0] - i * step) > Math.max(TOLERANCE, TOLERANCE * step)) {
                throw new UserException(subject + " has longitudes that do not rise eastward in equal steps: " + lons[i]
                    + " at index " + i + ". Store the field on a regular grid; others are not interpolated.");
            }
        }
        if (count * step > CIRCLE + step / 2) {
            throw new UserException(subject + " has the longitude " + lons[0] + " twice, as " + lons[count - 1]
                + " too. Leave out the last column.");
        }
        boolean global = Math.abs(count * step - CIRCLE) < step / 2;
        double west = request.hasArea() ? request.west() : 0;
        int first = global || request.hasArea() ? IntStream.range(0, count).boxed()
            .min((one, other) -> Double.compare(beyond(lons[one], west), beyond(lons[other], west))).orElseThrow() : 0;
        double width = request.hasArea() ? request.east() - request.west() : CIRCLE;
        return IntStream.range(0, count).map(k -> (first + k) % count)
            .filter(i -> !request.hasArea() || beyond(lons[i], west) <= width + TOLERANCE)
            .limit(request.columns()).toArray();
    }

    /** Degrees from {@code west} eastward to a longitude; one that is a rounding error west of it counts as there. */
    private static double beyond(double lon, double west) {
        double degrees = (lon - west) % CIRCLE;
        degrees = degrees < 0 ? degrees + CIRCLE : degrees;
        return degrees > CIRCLE - TOLERANCE ? degrees - CIRCLE : degrees;
    }

    /** Longitudes of the columns that rise without a jump. */
    private static double[] eastward(int[] columns, double[] lons) {
        double[] rising = Arrays.stream(columns).mapToDouble(i -> lons[i]).toArray();
        for (int i = 1; i < rising.length; i++) {
            while (rising[i] <= rising[i - 1]) {
                rising[i] += CIRCLE;
            }
        }
        return rising;
    }

    private static double wrapped(double lon) {
        double degrees = lon % CIRCLE;
        return degrees < -TOLERANCE ? degrees + CIRCLE : Math.max(0, degrees);
    }

    /** Wrapped longitudes of eastward columns, less 360 where the columns go on east of Greenwich. */
    private static double[] rising(double[] wrapped) {
        int greenwich = IntStream.range(1, wrapped.length).filter(i -> wrapped[i] < wrapped[i - 1]).findFirst()
            .orElse(0);
        return IntStream.range(0, wrapped.length)
            .mapToDouble(i -> i < greenwich ? wrapped[i] - CIRCLE : wrapped[i]).toArray();
    }

    private static double[] weights(double[] lats, int[] rows) {
        return Arrays.stream(rows).mapToDouble(j -> Math.abs(bound(lats, j, -1) - bound(lats, j, 1))).toArray();
    }

    /** Sine of the latitude halfway to a neighbour; that of a pole, or half a step away, where there is none. */
    private static double bound(double[] lats, int j, int side) {
        int other = j + side;
        double edge = other >= 0 && other < lats.length ? (lats[j] + lats[other]) / 2
            : lats.length == 1 ? side * 90 : lats[j] + (lats[j] - lats[j - side]) / 2;
        return Math.sin(Math.toRadians(Math.clamp(edge, -90, 90)));
    }

    /** Latitudes from north to south. */
    double[] latitudes() {
        return latitudes;
    }

    /** Longitudes eastward, from 0 to less than 360, or from less than 0 if Greenwich lies between them. */
    double[] longitudes() {
        return longitudes;
    }

    /** Number of rows that are written. */
    int height() {
        return latitudes.length;
    }

    /** Number of columns that are written. */
    int width() {
        return longitudes.length;
    }

    /** Rows and columns of a cell. */
    int cell() {
        return cell;
    }

    /** The source's row of each row before coarsening. */
    int[] rows() {
        return rows;
    }

    /** The source's column of each column before coarsening. */
    int[] columns() {
        return columns;
    }

    /**
     * Puts a row of the source into the order of the columns.
     *
     * @param row    its values from column {@code first} on
     * @param target receives a value for each column, from {@code at} on
     */
    void order(float[] row, int first, float[] target, int at) {
        int begin = 0;
        for (int end : runs) {
            System.arraycopy(row, columns[begin] - first, target, at + begin, end - begin);
            begin = end;
        }
    }

    /**
     * Averages a row of cells. A cell is NaN if one of its points is, or only if all of them are.
     *
     * @param values     {@link #cell} rows of as many columns as {@link #columns} has
     * @param row        the row of cells
     * @param ignoresNaN whether points that are NaN are left out
     * @param target     receives {@link #width} values from {@code at} on
     */
    void average(float[] values, int row, boolean ignoresNaN, float[] target, int at) {
        int across = columns.length;
        for (int i = 0; i < longitudes.length; i++) {
            double sum = 0;
            double weight = 0;
            for (int j = 0; j < cell; j++) {
                double area = weights[row * cell + j];
                for (int k = 0; k < cell; k++) {
                    float value = values[j * across + i * cell + k];
                    if (!ignoresNaN || !Float.isNaN(value)) {
                        sum += area * value;
                        weight += area;
                    }
                }
            }
            target[at + i] = (float) (sum / weight); // 0 / 0 is NaN
        }
    }
}
