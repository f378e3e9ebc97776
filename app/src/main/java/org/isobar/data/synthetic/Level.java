package org.isobar.data.synthetic;

/**
 * Amplitude and tilt of the waves at a pressure level. Waves are weaker and further east near the ground; only
 * planetary waves reach the highest level.
 */
enum Level {
    /** 1000 hPa. */
    L1000(0.6, 12, Integer.MAX_VALUE),
    /** 850 hPa. */
    L850(0.7, 8, Integer.MAX_VALUE),
    /** 500 hPa: the reference. */
    L500(1, 0, Integer.MAX_VALUE),
    /**
     * 50 hPa: only the longest waves propagate upwards through westerlies (Charney and Drazin, J. Geophys. Res.
     * 1961).
     */
    L50(1.6, -20, 3),
    /** Standing fields: all waves unchanged. */
    LANDSCAPE(1, 0, Integer.MAX_VALUE);

    private final double gain;
    private final double tilt;
    private final int cutoff;

    Level(double gain, double degreesEast, int cutoff) {
        this.gain = gain;
        this.tilt = -Math.toRadians(degreesEast);
        this.cutoff = cutoff;
    }

    /** Amplitude factor of wave number {@code m}. */
    double gain(int m) {
        return m <= cutoff ? gain : 0;
    }

    /** Westward shift in radians. */
    double tilt() {
        return tilt;
    }
}
