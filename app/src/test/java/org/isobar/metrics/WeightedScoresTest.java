package org.isobar.metrics;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

import org.junit.jupiter.api.Test;

/** Cases that can be worked out by hand. */
class WeightedScoresTest {
    private static final double EXACT = 1e-15;
    private static final double POLE = Math.cos(3.1416 / 2); // -3.67e-6, for 3.1416 is more than pi

    private static double[] rmse(float[] prediction, float[] target, int channels, int height, int width) {
        return WeightedRmse.perChannel(MemorySegment.ofArray(prediction), MemorySegment.ofArray(target),
            channels, height, width);
    }

    private static double[] acc(float[] prediction, float[] target, int channels, int height, int width) {
        return WeightedAcc.perChannel(MemorySegment.ofArray(prediction), MemorySegment.ofArray(target),
            channels, height, width);
    }

    @Test
    void weightsAreTheTutorials() {
        assertArrayEquals(new double[] {1, 1}, LatitudeWeights.of(2), EXACT);
        double sum = 2 * POLE + 1;
        assertArrayEquals(new double[] {3 * POLE / sum, 3 / sum, 3 * POLE / sum}, LatitudeWeights.of(3), EXACT);
        assertTrue(LatitudeWeights.of(3)[0] < 0);
        assertEquals(721, Arrays.stream(LatitudeWeights.of(721)).sum(), 1e-10);
        assertThrows(IllegalArgumentException.class, () -> LatitudeWeights.of(1));
    }

    @Test
    void twoLatitudesWeighTheSame() {
        assertArrayEquals(new double[] {Math.sqrt((9 + 16) / 2.0)},
            rmse(new float[] {3, 4}, new float[] {0, 0}, 1, 2, 1), EXACT * 10);
    }

    @Test
    void channelsAreApart() {
        float[] target = {1, 1, 1, 1, 1, 1, 5, 6, 7, 8, 9, 10};
        float[] prediction = {3, 3, 3, 3, 3, 3, 5, 6, 7, 8, 9, 10};
        assertArrayEquals(new double[] {2, 0}, rmse(prediction, target, 2, 3, 2), EXACT * 10);
        assertArrayEquals(new double[] {1, 1}, acc(prediction, target, 2, 3, 2), EXACT * 10);
    }

    @Test
    void theEquatorCounts() {
        float[] target = new float[6];
        float[] prediction = {0, 0, 1, 3, 0, 0};
        assertArrayEquals(new double[] {Math.sqrt(3 / (2 * POLE + 1) * (1 + 9) / 6)},
            rmse(prediction, target, 1, 3, 2), EXACT * 10);
    }

    @Test
    void anErrorAtThePolesAloneHasNoScoreAsInTheTutorial() {
        assertTrue(Double.isNaN(rmse(new float[] {1, 0, 1}, new float[3], 1, 3, 1)[0]));
    }

    @Test
    void correlationKnowsItsSign() {
        float[] field = {1, -2, 3, 4, -5, 6};
        float[] opposite = {-2, 4, -6, -8, 10, -12};
        float[] zero = new float[6];
        assertArrayEquals(new double[] {-1}, acc(opposite, field, 1, 2, 3), EXACT * 10);
        assertTrue(Double.isNaN(acc(zero, field, 1, 2, 3)[0]));
        assertArrayEquals(new double[] {(1 * 1 - 1 * 1) / 2.0},
            acc(new float[] {1, 1}, new float[] {1, -1}, 1, 2, 1), EXACT);
    }

    @Test
    void aFieldOfAnotherSizeIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> rmse(new float[5], new float[6], 1, 2, 3));
        assertThrows(IllegalArgumentException.class, () -> acc(new float[6], new float[5], 1, 2, 3));
    }
}
