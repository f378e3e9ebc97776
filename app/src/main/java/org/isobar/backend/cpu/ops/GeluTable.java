package org.isobar.backend.cpu.ops;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

import org.isobar.backend.cpu.vector.Bfloat16;

/**
 * GELU and its derivative in BF16. As there are only 65,536 BF16 numbers, both functions are tables, filled by {@link
 * VectorGelu}. A look-up takes less time than the exponential: the numbers that occur have few exponents, so that their
 * entries stay in the L1 cache.
 */
final class GeluTable {
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT;
    private static final int NUMBERS = 1 << Short.SIZE;
    /** Makes an index of the bits of a BF16 number. */
    private static final int BITS = NUMBERS - 1;
    /** GELU of each number, rounded to BF16. */
    private static final short[] VALUES = new short[NUMBERS];
    /** Derivative at each number. */
    private static final float[] SLOPES = new float[NUMBERS];

    static {
        try (Arena arena = Arena.ofShared()) { // the kind of all tensors, for which C2 compiles the loops
            MemorySegment halves = arena.allocate(SHORT, NUMBERS);
            for (int i = 0; i < NUMBERS; i++) {
                halves.setAtIndex(SHORT, i, (short) i);
            }
            MemorySegment numbers = arena.allocate(ValueLayout.JAVA_FLOAT, NUMBERS);
            MemorySegment slopes = arena.allocate(ValueLayout.JAVA_FLOAT, NUMBERS);
            for (int i = 0; i < NUMBERS; i++) {
                slopes.setAtIndex(ValueLayout.JAVA_FLOAT, i, 1);
            }
            Bfloat16.widen(numbers, halves);
            VectorGelu.backward(slopes, numbers, slopes, numbers);
            Bfloat16.narrow(halves, numbers);
            MemorySegment.copy(halves, SHORT, 0, VALUES, 0, NUMBERS);
            MemorySegment.copy(slopes, ValueLayout.JAVA_FLOAT, 0, SLOPES, 0, NUMBERS);
        }
    }

    private GeluTable() { }

    /** Computes {@code y = GELU(x)}, both BF16. {@code y} may be {@code x}. */
    static void forward(MemorySegment y, MemorySegment x) {
        int n = (int) (x.byteSize() / Short.BYTES);
        for (int i = 0; i < n; i++) {
            y.setAtIndex(SHORT, i, VALUES[x.getAtIndex(SHORT, i) & BITS]);
        }
    }

    /** Computes {@code y = GELU(x)}, both BF16, and {@code slopes = GELU'(x)}, F32. {@code y} may be {@code x}. */
    static void forward(MemorySegment y, MemorySegment slopes, MemorySegment x) {
        int n = (int) (x.byteSize() / Short.BYTES);
        for (int i = 0; i < n; i++) {
            int number = x.getAtIndex(SHORT, i) & BITS;
            slopes.setAtIndex(ValueLayout.JAVA_FLOAT, i, SLOPES[number]);
            y.setAtIndex(SHORT, i, VALUES[number]);
        }
    }
}
