package org.isobar.backend.cpu.attention;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jdk.incubator.vector.FloatVector;

import org.isobar.backend.cpu.vector.Lanes;
import org.junit.jupiter.api.Test;

/** Powers of two against double precision. */
final class SoftmaxPowerTest {
    private static float power(float x) {
        FloatVector exponents = SoftmaxPower.bounded(FloatVector.broadcast(Lanes.F32, x));
        return SoftmaxPower.of(exponents, SoftmaxPower.shifted(exponents)).lane(0);
    }

    @Test
    void powersAreWithinThreeUnits() {
        double worst = 0;
        for (int i = -125 * 4096 + 1; i <= 127 * 4096; i++) {
            float x = i / 4096f + 1e-5f * (i % 7);
            double exact = Math.pow(2, x);
            worst = Math.max(worst, Math.abs(power(x) - exact) / Math.ulp((float) exact));
        }
        assertTrue(worst <= 3, "units: " + worst);
    }

    @Test
    void powersForHalvesAreWithinTheirBound() {
        double worst = 0;
        for (int i = -125 * 64 + 1; i <= 127 * 64; i++) {
            float x = i / 64f + 1e-4f * (i % 7);
            FloatVector exponents = FloatVector.broadcast(Lanes.F32, x);
            double power = SoftmaxPower.ofHalf(exponents, SoftmaxPower.shifted(exponents)).lane(0);
            worst = Math.max(worst, Math.abs(power / Math.pow(2, x) - 1));
        }
        assertTrue(worst <= 0x1p-18, "relative error: " + worst);
    }

    @Test
    void wholePowersAreExactAndSmallOnesNextToNothing() {
        assertEquals(1, power(0));
        assertEquals(0x1p-100f, power(-100));
        assertEquals(0x1p40f, power(40));
        for (float x : new float[] {-126, -200.5f, -1e6f, -1e30f, Float.NEGATIVE_INFINITY}) {
            assertTrue(power(x) > 0 && power(x) <= 0x1p-124f, x + ": " + power(x));
        }
    }

    @Test
    void whatIsNotFiniteGivesNoNumber() {
        float negative = Float.intBitsToFloat(0xFFC0_0000); // as the processor makes it of infinity less infinity
        for (float x : new float[] {Float.NaN, negative, Float.POSITIVE_INFINITY}) {
            assertTrue(Float.isNaN(power(x)), x + ": " + power(x));
        }
    }

    @Test
    void weightsAreNotMuchGreaterThanOne() {
        for (float x : new float[] {0, -3, 0.5f, 7, 1e20f, -1e20f}) {
            float expected = x < -124 ? 0x1p-125f : (float) Math.pow(2, Math.min(x, 1));
            assertEquals(expected, SoftmaxPower.ofWeight(FloatVector.broadcast(Lanes.F32, x)).lane(0),
                expected * 3e-7f);
        }
    }
}
