package org.isobar.backend.cpu.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

import org.isobar.backend.cpu.vector.Bfloat16;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.verify.reference.NormalDistribution;
import org.junit.jupiter.api.Test;

/** Accuracy of GELU and its derivative over dense samples of their arguments, in memory as kernels see it. */
class VectorGeluTest {
    private static final int STRIDE = 1009;
    private static final float LEAST = 1e-7f;
    /** Where the lower tail of the normal distribution ceases to be a normal number. */
    private static final float MOST = 12.9499f;
    private static final int COUNT = (Float.floatToRawIntBits(MOST) - Float.floatToRawIntBits(LEAST)) / STRIDE;

    private final Arena arena = Arena.ofAuto();

    /** One product more than the tail, whose error a unit half as large may double: 2.22 at worst, at -0.066. */
    @Test
    void valueIsWithinThreeUnits() {
        for (float sign : new float[] {-1, 1}) {
            MemorySegment x = samples(sign);
            MemorySegment y = floats(COUNT);
            VectorGelu.forward(y, x);
            double worst = 0;
            for (int i = 0; i < COUNT; i++) {
                double truth = at(x, i) * NormalDistribution.cumulative(at(x, i));
                worst = Math.max(worst, Math.abs(at(y, i) - truth) / Math.ulp((float) truth));
            }
            assertTrue(worst <= 3, "units in the last place: " + worst);
        }
    }

    /**
     * The derivative has a zero, near which its error is small beside one, not beside itself. At most it is half a unit
     * of one for the last rounding, as much for the tail, and as much for 1 - tail and x phi(x) together.
     */
    @Test
    void derivativeIsWithinThreeHalvesOfAUnitOfOne() {
        for (float sign : new float[] {-1, 1}) {
            MemorySegment x = samples(sign);
            MemorySegment y = floats(COUNT);
            MemorySegment dx = floats(COUNT);
            dx.copyFrom(ones());
            VectorGelu.backward(dx, y, dx, x);
            double worst = 0;
            for (int i = 0; i < COUNT; i++) {
                double value = at(x, i);
                double truth = NormalDistribution.cumulative(value) + value * NormalDistribution.density(value);
                worst = Math.max(worst, Math.abs(at(dx, i) - truth));
            }
            assertTrue(worst <= 1.5 * Math.ulp(1f), "units in the last place of one: " + worst / Math.ulp(1f));
        }
    }

    /** What does not fill a vector has the same bits, and both passes have the same values. */
    @Test
    void everyElementHasTheSameBits() {
        int n = 3 * Lanes.WIDTH - 1;
        MemorySegment x = floats(n);
        for (int i = 0; i < n; i++) {
            x.setAtIndex(ValueLayout.JAVA_FLOAT, i, -0.7f);
        }
        MemorySegment forward = floats(n);
        VectorGelu.forward(forward, x);
        MemorySegment y = floats(n);
        MemorySegment dx = floats(n);
        VectorGelu.backward(dx, y, x, x);
        assertEquals(-1, forward.mismatch(y));
        for (int i = 1; i < n; i++) {
            assertEquals(at(y, 0), at(y, i));
            assertEquals(at(dx, 0), at(dx, i));
        }
    }

    /** BF16 numbers are looked up: value and derivative are those of the formula, value rounded, for each number. */
    @Test
    void tableHoldsTheFormulaForEveryBfloat16() {
        int n = 1 << Short.SIZE;
        MemorySegment numbers = arena.allocate(ValueLayout.JAVA_SHORT, n);
        MemorySegment slopes = floats(n);
        for (int i = 0; i < n; i++) {
            numbers.setAtIndex(ValueLayout.JAVA_SHORT, i, (short) i);
            slopes.setAtIndex(ValueLayout.JAVA_FLOAT, i, 1);
        }
        MemorySegment values = floats(n);
        Bfloat16.widen(values, numbers);
        VectorGelu.backward(slopes, values, slopes, values);
        MemorySegment rounded = arena.allocate(ValueLayout.JAVA_SHORT, n);
        Bfloat16.narrow(rounded, values);
        MemorySegment found = arena.allocate(ValueLayout.JAVA_SHORT, n);
        GeluTable.forward(found, numbers);
        assertEquals(-1, found.mismatch(rounded));
        MemorySegment foundSlopes = floats(n);
        GeluTable.forward(numbers, foundSlopes, numbers);
        assertEquals(-1, numbers.mismatch(rounded));
        assertEquals(-1, foundSlopes.mismatch(slopes));
    }

    @Test
    void limits() {
        MemorySegment x = floats(3);
        MemorySegment y = floats(3);
        x.setAtIndex(ValueLayout.JAVA_FLOAT, 0, Float.NEGATIVE_INFINITY);
        x.setAtIndex(ValueLayout.JAVA_FLOAT, 1, Float.POSITIVE_INFINITY);
        x.setAtIndex(ValueLayout.JAVA_FLOAT, 2, Float.NaN);
        VectorGelu.forward(y, x);
        assertEquals(0, at(y, 0));
        assertEquals(Float.POSITIVE_INFINITY, at(y, 1));
        assertTrue(Float.isNaN(at(y, 2)));
    }

    private MemorySegment samples(float sign) {
        MemorySegment x = floats(COUNT);
        for (int i = 0; i < COUNT; i++) {
            x.setAtIndex(ValueLayout.JAVA_FLOAT, i,
                sign * Float.intBitsToFloat(Float.floatToRawIntBits(LEAST) + i * STRIDE));
        }
        return x;
    }

    private MemorySegment ones() {
        MemorySegment ones = floats(COUNT);
        for (int i = 0; i < COUNT; i++) {
            ones.setAtIndex(ValueLayout.JAVA_FLOAT, i, 1);
        }
        return ones;
    }

    private MemorySegment floats(int count) {
        return arena.allocate((long) count * Float.BYTES, Lanes.F32.vectorByteSize());
    }

    private static float at(MemorySegment floats, int index) {
        return floats.getAtIndex(ValueLayout.JAVA_FLOAT, index);
    }
}
