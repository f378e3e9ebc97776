package org.isobar.backend.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.DoubleUnaryOperator;
import java.util.function.UnaryOperator;
import jdk.incubator.vector.FloatVector;

import org.isobar.verify.NormalDistribution;
import org.junit.jupiter.api.Test;

/** Accuracy of the vectorized functions over dense samples of their arguments. */
class VectorMathTest {
    /** A prime, so that samples meet every lane and every kind of low bits. */
    private static final int STRIDE = 1009;

    @Test
    void expIsWithinOneUnitWhereItIsNormal() {
        double error = worst(0f, 88.72283f, VectorMath::exp, StrictMath::exp);
        error = Math.max(error, worst(-87.33654f, -1e-30f, VectorMath::exp, StrictMath::exp));
        assertTrue(error <= 1, "units in the last place: " + error);
    }

    @Test
    void expOutsideItsRange() {
        assertEquals(1, exp(0f));
        assertEquals(1, exp(-0f));
        assertEquals(0, exp(-87.34f));
        assertEquals(0, exp(-1e30f));
        assertEquals(0, exp(Float.NEGATIVE_INFINITY));
        assertEquals(Float.POSITIVE_INFINITY, exp(88.73f));
        assertEquals(Float.POSITIVE_INFINITY, exp(Float.POSITIVE_INFINITY));
        assertTrue(Float.isNaN(exp(Float.NaN)));
        assertTrue(Float.isNaN(exp(Float.intBitsToFloat(0xFF800001))));
    }

    @Test
    void everyLaneIsComputed() {
        float[] x = new float[Lanes.F32.length()];
        for (int i = 0; i < x.length; i++) {
            x[i] = i - 3;
        }
        FloatVector y = VectorMath.exp(FloatVector.fromArray(Lanes.F32, x, 0));
        for (int i = 0; i < x.length; i++) {
            assertEquals(exp(x[i]), y.lane(i));
        }
    }

    @Test
    void millsRatioIsWithinFiveUnits() {
        double error = worst(0f, 13.2f, VectorMath::millsRatio, NormalDistribution::millsRatio);
        assertTrue(error <= 5, "units in the last place: " + error);
    }

    /**
     * From where the lower tail is a normal number: five for the ratio, three for the density. An uncorrected square
     * alone would cost sixty.
     */
    @Test
    void lowerTailIsWithinEightUnits() {
        double error = worst(-12.9499f, -1e-6f, VectorMathTest::cumulative, NormalDistribution::cumulative);
        assertTrue(error <= 8, "units in the last place: " + error);
    }

    @Test
    void cumulativeAtTheEnds() {
        for (float x : new float[] {14, 1e10f, 1e20f, Float.MAX_VALUE, Float.POSITIVE_INFINITY}) {
            assertEquals(1, cumulative(FloatVector.broadcast(Lanes.F32, x)).lane(0));
            assertEquals(0, cumulative(FloatVector.broadcast(Lanes.F32, -x)).lane(0));
        }
        assertTrue(Float.isNaN(cumulative(FloatVector.broadcast(Lanes.F32, Float.NaN)).lane(0)));
    }

    private static FloatVector cumulative(FloatVector x) {
        return CpuGelu.cumulative(x, CpuGelu.density(x));
    }

    @Test
    void millsRatioStaysHarmlessBeyondItsRange() {
        for (float x = 13.2f; x < 1e30f; x *= 1.5f) {
            float ratio = VectorMath.millsRatio(FloatVector.broadcast(Lanes.F32, x)).lane(0);
            assertTrue(ratio >= 0 && ratio < 0.1, "M(" + x + ") = " + ratio);
        }
    }

    /** Largest error between {@code low} and {@code high} (of the same sign), in units of the last place. */
    private static double worst(float low, float high, UnaryOperator<FloatVector> f, DoubleUnaryOperator exact) {
        int first = Math.min(Float.floatToRawIntBits(low), Float.floatToRawIntBits(high));
        int last = Math.max(Float.floatToRawIntBits(low), Float.floatToRawIntBits(high));
        double worst = 0;
        int lanes = Lanes.F32.length();
        float[] x = new float[lanes];
        float[] y = new float[lanes];
        for (long bits = first; bits <= last; bits += (long) STRIDE * lanes) {
            for (int lane = 0; lane < lanes; lane++) {
                x[lane] = Float.intBitsToFloat((int) Math.min(bits + (long) lane * STRIDE, last));
            }
            f.apply(FloatVector.fromArray(Lanes.F32, x, 0)).intoArray(y, 0);
            for (int lane = 0; lane < lanes; lane++) {
                double truth = exact.applyAsDouble(x[lane]);
                worst = Math.max(worst, Math.abs(y[lane] - truth) / Math.ulp((float) truth));
            }
        }
        return worst;
    }

    private static float exp(float x) {
        return VectorMath.exp(FloatVector.broadcast(Lanes.F32, x)).lane(0);
    }
}
