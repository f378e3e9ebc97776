package org.isobar.data.convert;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

import org.isobar.fault.UserException;

/** How the grid of each array is ordered. All of them become the same grid. */
final class Grids {
    private static final double SAME_PLACE = 1e-4; // degrees

    private final Map<GriddedArray, TargetGrid> byArray = new IdentityHashMap<>();
    private final TargetGrid common;

    /**
     * Orders the grids of all arrays.
     *
     * @throws UserException if one cannot be ordered, or two are different grids
     */
    Grids(List<ChannelSource> channels, GridRequest request) {
        List<GriddedArray> different = new ArrayList<>(); // one array of each way to store the grid
        for (ChannelSource channel : channels) {
            for (ChannelSource.Segment segment : channel.segments()) {
                GriddedArray array = segment.array();
                GriddedArray like = different.stream().filter(other ->
                    Arrays.equals(other.latitudes(), array.latitudes())
                    && Arrays.equals(other.longitudes(), array.longitudes())).findFirst().orElse(array);
                if (like == array) {
                    different.add(array);
                }
                byArray.computeIfAbsent(array, key -> like == array ? TargetGrid.of(array.subject(), array.latitudes(),
                    array.longitudes(), request) : byArray.get(like));
            }
        }
        common = byArray.get(different.getFirst());
        for (GriddedArray array : different) {
            TargetGrid grid = byArray.get(array);
            if (!same(grid.latitudes(), common.latitudes()) || !same(grid.longitudes(), common.longitudes())) {
                throw new UserException(array.subject() + " is on a grid of " + text(array) + ", but "
                    + different.getFirst().subject() + " on one of " + text(different.getFirst()) + ". Convert files "
                    + "of one grid at a time; grids are not interpolated.");
            }
        }
    }

    /** The grid that is written. */
    TargetGrid common() {
        return common;
    }

    /** The grid that is written, in the order of an array. */
    TargetGrid of(GriddedArray array) {
        return byArray.get(array);
    }

    /** Whether latitudes or longitudes are the same, apart from rounding. */
    static boolean same(double[] one, double[] other) {
        boolean same = one.length == other.length;
        for (int i = 0; same && i < one.length; i++) {
            same = Math.abs(one[i] - other[i]) < SAME_PLACE;
        }
        return same;
    }

    private static String text(GriddedArray field) {
        double[] lats = field.latitudes();
        double[] lons = field.longitudes();
        return lats.length + " x " + lons.length + " from " + lats[0] + " to " + lats[lats.length - 1]
            + " degrees north and " + lons[0] + " to " + lons[lons.length - 1] + " degrees east";
    }
}
