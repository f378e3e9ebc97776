package org.isobar.backend.cpu.vector;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.DoubleUnaryOperator;
import java.util.function.UnaryOperator;
import jdk.incubator.vector.FloatVector;

import org.isobar.verify.reference.NormalDistribution;
import org.junit.jupiter.api.Test;

/** Accuracy of the vectorized tails over dense samples of their arguments. */
class VectorMathTest {
    /** A prime, so that samples meet every lane and every kind of low bits. */
    private static final int STRIDE = 1009;

    /** Where they are normal numbers; of all floats the worst is 1.91, at 0.765. */
    @Test
    void normalTailsAreWithinTwoUnits() {
        double lower = worst(-12.9499f, -1e-7f, VectorMathTest::tail, NormalDistribution::cumulative);
        assertTrue(lower <= 2, "units in the last place: " + lower);
        double upper = worst(1e-7f, 12.9499f, x -> FloatVector.broadcast(Lanes.F32, 1).sub(tail(x)),
            NormalDistribution::cumulative);
        assertTrue(upper <= 2, "units in the last place: " + upper);
    }

    @Test
    void normalTailAtItsEnds() {
        assertEquals(0.5f, tail(0f));
        assertEquals(0.5f, tail(-0f));
        for (float x : new float[] {13.164f, 14, 1e10f, 1e20f, Float.MAX_VALUE, Float.POSITIVE_INFINITY}) {
            assertEquals(0, tail(x));
            assertEquals(0, tail(-x));
        }
        assertTrue(Float.isNaN(tail(Float.NaN)));
        assertTrue(Float.isNaN(tail(Float.intBitsToFloat(0xFF800001))));
    }

    private static float tail(float x) {
        return tail(FloatVector.broadcast(Lanes.F32, x)).lane(0);
    }

    /** 1 - Phi(|x|). */
    private static FloatVector tail(FloatVector x) {
        FloatVector a = VectorMath.tailArgument(x);
        FloatVector exponent = VectorMath.bellExponent(a);
        FloatVector q = VectorMath.tailQuotient(a);
        FloatVector remainder = VectorMath.tailRemainder(a, q);
        FloatVector excess = VectorMath.bellExcess(a, exponent, remainder);
        return VectorMath.normalTail(q, remainder, excess).mul(VectorMath.bellPower(exponent));
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
}
