package org.isobar.metrics;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;

import org.junit.jupiter.api.Test;

/** Cases that can be computed by hand. */
class WeightedAccTest {
    private static final double EXACT = 1e-15;

    private static double[] acc(float[] prediction, float[] target, int channels, int height, int width) {
        return WeightedAcc.perChannel(MemorySegment.ofArray(prediction), MemorySegment.ofArray(target),
            channels, height, width);
    }

    @Test
    void channelsAreIndependent() {
        float[] target = {1, 1, 1, 1, 1, 1, 5, 6, 7, 8, 9, 10};
        float[] prediction = {3, 3, 3, 3, 3, 3, 5, 6, 7, 8, 9, 10};
        assertArrayEquals(new double[] {1, 1}, acc(prediction, target, 2, 3, 2), EXACT * 10);
    }

    @Test
    void latitudesAreWeighted() {
        double pole = Math.cos(3.1416 / 2);
        double[] expected = {2 / Math.sqrt((2 * pole + 1) * (2 * pole + 4))};
        assertArrayEquals(expected, acc(new float[] {1, 1, 1}, new float[] {1, 2, -1}, 1, 3, 1), EXACT * 10);
    }

    @Test
    void correlationIsSigned() {
        float[] field = {1, -2, 3, 4, -5, 6};
        float[] opposite = {-2, 4, -6, -8, 10, -12};
        float[] zero = new float[6];
        assertArrayEquals(new double[] {-1}, acc(opposite, field, 1, 2, 3), EXACT * 10);
        assertTrue(Double.isNaN(acc(zero, field, 1, 2, 3)[0]));
        assertArrayEquals(new double[] {(1 * 1 - 1 * 1) / 2.0},
            acc(new float[] {1, 1}, new float[] {1, -1}, 1, 2, 1), EXACT);
    }

    @Test
    void refusesAFieldOfAnotherSize() {
        assertThrows(IllegalArgumentException.class, () -> acc(new float[5], new float[6], 1, 2, 3));
        assertThrows(IllegalArgumentException.class, () -> acc(new float[6], new float[5], 1, 2, 3));
    }
}
