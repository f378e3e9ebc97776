package org.isobar.pretrained;

import java.util.List;
import java.util.Optional;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

import org.isobar.data.Era5File;
import org.isobar.fault.UserException;

/**
 * The places of a model's pixels.
 *
 * @param latitudes  of the rows, in degrees north
 * @param longitudes of the columns, in degrees east
 */
public record ModelGrid(List<Double> latitudes, List<Double> longitudes) {
    private static final double POLE = 90;
    private static final double CIRCLE = 360;
    private static final double ROUNDING = 1e-3; // of coordinates in single precision, in grid cells

    /**
     * The tutorial's rule for data without coordinates: row {@code j} of H lies at {@code 90 - 180 j / (H - 1)}, column
     * {@code i} of W at {@code 360 i / W}. A single row lies on the equator.
     */
    static ModelGrid ofTutorial(int rows, int columns) {
        return new ModelGrid(
            IntStream.range(0, rows).mapToObj(j -> rows == 1 ? 0 : POLE - 2 * POLE * j / (rows - 1)).toList(),
            IntStream.range(0, columns).mapToObj(i -> CIRCLE * i / columns).toList());
    }

    /** The places that the data give; those of the tutorial's rule where they give none. */
    static ModelGrid of(Optional<double[]> latitudes, Optional<double[]> longitudes, int rows, int columns) {
        ModelGrid tutorial = ofTutorial(rows, columns);
        return new ModelGrid(latitudes.map(ModelGrid::list).orElse(tutorial.latitudes),
            longitudes.map(ModelGrid::rising).map(ModelGrid::list).orElse(tutorial.longitudes));
    }

    /** Longitudes that fall once, from 180 to -180 or from 360 to 0 degrees, with 360 more or less on one side. */
    private static double[] rising(double[] degrees) {
        int[] falls = IntStream.range(1, degrees.length).filter(i -> degrees[i] < degrees[i - 1]).toArray();
        if (falls.length != 1 || degrees[falls[0] - 1] - degrees[falls[0]] < CIRCLE / 2) {
            return degrees;
        }
        double east = degrees[degrees.length - 1] <= 0 ? CIRCLE : 0;
        return IntStream.range(0, degrees.length)
            .mapToDouble(i -> degrees[i] + (i < falls[0] ? east - CIRCLE : east)).toArray();
    }

    private static List<Double> list(double[] degrees) {
        return DoubleStream.of(degrees).boxed().toList();
    }

    /**
     * Checks that the coordinates of a file, if it has any, lie no more than one grid cell from those of the model. A
     * model that was trained on data without coordinates has those of the tutorial's rule, which are not exact for data
     * that lack a row.
     *
     * @throws UserException with the first row or column that lies farther away
     */
    public void requireFit(Era5File file) {
        file.requireGrid(Optional.of(array(latitudes)), Optional.of(array(longitudes)), 1 + ROUNDING, "the model");
    }

    private static double[] array(List<Double> degrees) {
        return degrees.stream().mapToDouble(Double::doubleValue).toArray();
    }

    /** What is wrong with the coordinates; empty if nothing is. */
    String fault() {
        if (!latitudes.stream().allMatch(latitude -> Math.abs(latitude) <= POLE)) {
            return "a latitude is not between -90 and 90";
        }
        if (!longitudes.stream().allMatch(longitude -> Math.abs(longitude) <= CIRCLE)) {
            return "a longitude is not between -360 and 360";
        }
        boolean falls = IntStream.range(1, latitudes.size()).allMatch(j -> latitudes.get(j) < latitudes.get(j - 1));
        boolean rises = IntStream.range(1, latitudes.size()).allMatch(j -> latitudes.get(j) > latitudes.get(j - 1));
        if (!falls && !rises) {
            return "its latitudes neither all fall nor all rise";
        }
        boolean east = IntStream.range(1, longitudes.size()).allMatch(i -> longitudes.get(i) > longitudes.get(i - 1));
        return east ? "" : "its longitudes do not rise";
    }
}
