package org.isobar.data.convert;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.isobar.fault.UserException;

/**
 * Which part of the grid is converted, and how coarsely.
 *
 * @param north   northernmost latitude in degrees
 * @param west    westernmost longitude in degrees east
 * @param south   southernmost latitude in degrees
 * @param east    easternmost longitude in degrees east, at least {@code west}
 * @param rows    most rows, counted from the north
 * @param columns most columns, counted from the west
 * @param coarsen rows and columns of the cells that are averaged; 1 keeps the grid
 */
record GridRequest(double north, double west, double south, double east, int rows, int columns, int coarsen) {
    private static final Pattern AREA = Pattern.compile("(-?[\\d.]+)/(-?[\\d.]+)/(-?[\\d.]+)/(-?[\\d.]+)");
    private static final Pattern SIZE = Pattern.compile("([1-9]\\d{0,5})x([1-9]\\d{0,5})");

    /**
     * Parses the values of {@code --crop} and {@code --coarsen}.
     *
     * @param crop {@code NORTH/WEST/SOUTH/EAST} in degrees, {@code ROWSxCOLUMNS}, or empty
     * @throws UserException if one is neither
     */
    static GridRequest of(String crop, int coarsen) {
        if (coarsen < 1) {
            throw new UserException("--coarsen is " + coarsen + ", expected the rows and columns of a cell: 2, for "
                + "example");
        }
        Matcher size = SIZE.matcher(crop);
        if (size.matches()) {
            return new GridRequest(90, Double.NaN, -90, Double.NaN, Integer.parseInt(size.group(1)),
                Integer.parseInt(size.group(2)), coarsen);
        }
        if (crop.isEmpty()) {
            return new GridRequest(90, Double.NaN, -90, Double.NaN, Integer.MAX_VALUE, Integer.MAX_VALUE, coarsen);
        }
        Matcher area = AREA.matcher(crop);
        try {
            if (area.matches()) {
                double[] degrees = new double[4];
                for (int i = 0; i < degrees.length; i++) {
                    degrees[i] = Double.parseDouble(area.group(i + 1));
                }
                if (degrees[0] > degrees[2] && degrees[3] > degrees[1] && degrees[3] - degrees[1] <= 360) {
                    return new GridRequest(degrees[0], degrees[1], degrees[2], degrees[3], Integer.MAX_VALUE,
                        Integer.MAX_VALUE, coarsen);
                }
            }
        } catch (NumberFormatException noNumber) {
            // refused below
        }
        throw new UserException("--crop is '" + crop + "', expected NORTH/WEST/SOUTH/EAST in degrees, with north above "
            + "south and east above west (72/-25/30/45), or ROWSxCOLUMNS of the grid (720x1440)");
    }

    /** Whether the longitudes are restricted in degrees. */
    boolean hasArea() {
        return !Double.isNaN(west);
    }

    /** What the options were, for the record of a conversion. */
    @Override
    public String toString() {
        return (hasArea() ? String.format(Locale.ROOT, "%s/%s/%s/%s", north, west, south, east)
            : rows == Integer.MAX_VALUE ? "whole" : rows + "x" + columns) + ", coarsened by " + coarsen;
    }
}
