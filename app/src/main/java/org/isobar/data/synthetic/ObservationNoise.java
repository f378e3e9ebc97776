package org.isobar.data.synthetic;

import org.isobar.data.Era5Variable;
import org.isobar.random.Philox;

/**
 * Unpredictable noise: independent errors at every point, whose standard deviation is a fixed fraction of each
 * variable's spread. A sum of four random bytes is close to a normal distribution, and its variance is known exactly.
 * Variables that cannot be negative are clamped to zero.
 */
final class ObservationNoise {
    /** Standard deviation of the noise in units of {@link Era5Variable#spread}. */
    static final double LEVEL = 0.05;
    private static final double BYTE_VARIANCE = (256.0 * 256 - 1) / 12;
    private static final float MEAN = 4 * 127.5f;

    private final Philox.Key key;
    private final int[] words = new int[4];

    ObservationNoise(long seed) {
        key = Philox.Key.of(seed, "synthetic noise");
    }

    /** Standard deviation of the noise of a variable, in its unit. */
    static double deviation(Era5Variable variable) {
        return LEVEL * variable.spread();
    }

    /** Adds the noise of the given frame to a variable's field. */
    void add(long frame, Era5Variable variable, float[] field) {
        Philox.Key moment = key.at(frame);
        float scale = (float) (deviation(variable) / Math.sqrt(4 * BYTE_VARIANCE));
        float least = variable.isPositive() ? 0 : Float.NEGATIVE_INFINITY;
        long firstBlock = (long) variable.ordinal() << 40;
        for (int p = 0; p < field.length; p++) {
            if ((p & 3) == 0) {
                Philox.block(moment, firstBlock + (p >> 2), words);
            }
            int word = words[p & 3];
            int sum = (word & 0xFF) + (word >>> 8 & 0xFF) + (word >>> 16 & 0xFF) + (word >>> 24);
            field[p] = Math.max(least, field[p] + scale * (sum - MEAN));
        }
    }
}
