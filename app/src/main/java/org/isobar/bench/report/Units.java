package org.isobar.bench.report;

/** SI prefixes and percent as factors, and the quotient of numbers that may not have been measured. */
final class Units {
    static final double MILLI = 1e-3;
    static final double MEGA = 1e6;
    static final double GIGA = 1e9;
    static final double TERA = 1e12;
    static final double PERCENT = 1e-2;

    private Units() { }

    /** Returns {@code one / other}; null if either is null. */
    static Double quotient(Double one, Double other) {
        return one == null || other == null ? null : Double.valueOf(one / other);
    }
}
