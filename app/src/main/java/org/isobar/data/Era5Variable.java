package org.isobar.data;

import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * The twenty variables of the tutorial's data set, in channel order. Names are ERA5's, with the pressure level in hPa:
 * wind components u and v, temperature t, geopotential z, relative humidity r.
 */
public enum Era5Variable {
    /** Eastward wind 10 m above ground. */
    U10("m/s", 5.5),
    /** Northward wind 10 m above ground. */
    V10("m/s", 4.8),
    /** Temperature 2 m above ground. */
    T2M("K", 21),
    /** Pressure at the surface. */
    SP("Pa", 9600),
    /** Pressure reduced to mean sea level. */
    MSLP("Pa", 1330),
    /** Temperature at 850 hPa. */
    T850("K", 15.6),
    /** Eastward wind at 1000 hPa. */
    U1000("m/s", 6.1),
    /** Northward wind at 1000 hPa. */
    V1000("m/s", 5.3),
    /** Geopotential at 1000 hPa. */
    Z1000("m2/s2", 1070),
    /** Eastward wind at 850 hPa. */
    U850("m/s", 8.2),
    /** Northward wind at 850 hPa. */
    V850("m/s", 6.3),
    /** Geopotential at 850 hPa. */
    Z850("m2/s2", 1470),
    /** Eastward wind at 500 hPa. */
    U500("m/s", 11.8),
    /** Northward wind at 500 hPa. */
    V500("m/s", 9.2),
    /** Geopotential at 500 hPa. */
    Z500("m2/s2", 3350),
    /** Temperature at 500 hPa. */
    T500("K", 13.1),
    /** Geopotential at 50 hPa. */
    Z50("m2/s2", 3530),
    /** Relative humidity at 500 hPa. */
    R500("%", 33.5),
    /** Relative humidity at 850 hPa. */
    R850("%", 26.3),
    /** Total column water vapour. */
    TCWV("kg/m2", 16.6);

    /** Number of variables. */
    public static final int COUNT = values().length;

    private final String unit;
    private final double spread;

    Era5Variable(String unit, double spread) {
        this.unit = unit;
        this.spread = spread;
    }

    /** Name as in the tutorial, for example {@code u10} or {@code z500}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** The names of the tutorial's channels, if {@code channels} is their number; else empty. */
    static List<String> names(int channels) {
        return channels == COUNT ? Stream.of(values()).map(Era5Variable::label).toList() : List.of();
    }

    /** Unit of the values. */
    public String unit() {
        return unit;
    }

    /** Whether the variable cannot be negative: relative humidity and water vapour. */
    public boolean isPositive() {
        return unit.equals("%") || unit.equals("kg/m2");
    }

    /** Standard deviation over globe and year in ERA5, rounded, in {@link #unit}. */
    public double spread() {
        return spread;
    }
}
