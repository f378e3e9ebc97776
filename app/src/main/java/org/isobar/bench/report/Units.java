package org.isobar.bench.report;

/** SI prefixes and percent as factors. */
final class Units {
    static final double MILLI = 1e-3;
    static final double MEGA = 1e6;
    static final double GIGA = 1e9;
    static final double TERA = 1e12;
    static final double PERCENT = 1e-2;

    private Units() { }
}
