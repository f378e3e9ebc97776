package org.isobar.device;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;

import org.junit.jupiter.api.Test;

/** Weights that can be worked out by hand. */
class LatitudeWeightsTest {
    private static final double EXACT = 1e-15;
    private static final double POLE = Math.cos(3.1416 / 2); // -3.67e-6, for 3.1416 is more than pi

    @Test
    void weightsAreTheTutorials() {
        assertArrayEquals(new double[] {1, 1}, LatitudeWeights.of(2), EXACT);
        double sum = 2 * POLE + 1;
        assertArrayEquals(new double[] {3 * POLE / sum, 3 / sum, 3 * POLE / sum}, LatitudeWeights.of(3), EXACT);
        assertTrue(LatitudeWeights.of(3)[0] < 0);
        assertEquals(721, Arrays.stream(LatitudeWeights.of(721)).sum(), 1e-10);
    }

    @Test
    void oneRowHasNoPoles() {
        assertThrows(IllegalArgumentException.class, () -> LatitudeWeights.of(1));
    }
}
