package org.isobar.backend.cpu.vector;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorShuffle;
import jdk.incubator.vector.VectorSpecies;

/**
 * Loads and stores of float vectors from and to memory that holds BF16, the upper 16 bits of floats. Indices count
 * elements.
 */
public final class Bfloat16 {
    private static final VectorSpecies<Integer> I32 = IntVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Short> I16 =
        VectorSpecies.of(short.class, VectorShape.forBitSize(I32.vectorBitSize() / 2));
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();
    private static final int SHIFT = 1;
    private static final VectorSpecies<Short> PAIR = ShortVector.SPECIES_PREFERRED;
    /** Lanes of even index, then those of odd index. */
    private static final VectorShuffle<Short> UNZIP =
        VectorShuffle.fromOp(PAIR, i -> i < Lanes.WIDTH ? 2 * i : 2 * (i - Lanes.WIDTH) + 1);
    private static final IntVector UPPER = IntVector.broadcast(I32, 0xFFFF_0000);
    private static final IntVector HALF = IntVector.broadcast(I32, 0x8000);
    /** Added before truncation: just less than half of the lowest bit that is kept. */
    private static final int BELOW_HALF = 0x7FFF;

    private Bfloat16() { }

    public static FloatVector load(MemorySegment halves, int index) {
        return floats(ShortVector.fromMemorySegment(I16, halves, (long) index << SHIFT, ORDER));
    }

    /** Lanes that are not set in {@code mask} are zero. */
    public static FloatVector load(MemorySegment halves, int index, VectorMask<Float> mask) {
        return floats(ShortVector.fromMemorySegment(I16, halves, (long) index << SHIFT, ORDER, mask.cast(I16)));
    }

    /** Rounds to nearest, ties to even. */
    public static void store(MemorySegment halves, int index, FloatVector vector) {
        halves(quiet(vector)).intoMemorySegment(halves, (long) index << SHIFT, ORDER);
    }

    /**
     * Stores with rounding to nearest, ties to even; lanes must not be NaN. In innermost loops, {@link #store} is too
     * long for HotSpot to optimize without allocating vectors as objects, because it also handles NaN.
     */
    public static void storeNumbers(MemorySegment halves, int index, FloatVector vector) {
        halves(vector).intoMemorySegment(halves, (long) index << SHIFT, ORDER);
    }

    /**
     * Stores two vectors one after the other, rounded to nearest, ties away from zero; lanes must not be NaN. Takes
     * less than half of the instructions of two {@link #storeNumbers}.
     */
    public static void storePair(MemorySegment halves, int index, FloatVector first, FloatVector second) {
        IntVector even = first.reinterpretAsInts().add(HALF).lanewise(VectorOperators.LSHR, Short.SIZE);
        IntVector odd = second.reinterpretAsInts().add(HALF).and(UPPER);
        even.or(odd).reinterpretAsShorts().rearrange(UNZIP)
            .intoMemorySegment(halves, (long) index << SHIFT, ORDER);
    }

    /** Rounds to nearest, ties to even. */
    public static void store(MemorySegment halves, int index, FloatVector vector, VectorMask<Float> mask) {
        halves(quiet(vector)).intoMemorySegment(halves, (long) index << SHIFT, ORDER, mask.cast(I16));
    }

    /** {@code floats = halves}. */
    public static void widen(MemorySegment floats, MemorySegment halves) {
        int n = Lanes.count(floats);
        int i = 0;
        for (; i <= n - Lanes.WIDTH; i += Lanes.WIDTH) {
            Lanes.store(floats, i, load(halves, i));
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            Lanes.store(floats, i, load(halves, i, rest), rest);
        }
    }

    /** {@code halves = floats}, rounded to nearest, ties to even. */
    public static void narrow(MemorySegment halves, MemorySegment floats) {
        int n = Lanes.count(floats);
        int i = 0;
        for (; i <= n - Lanes.WIDTH; i += Lanes.WIDTH) {
            store(halves, i, Lanes.load(floats, i));
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            store(halves, i, Lanes.load(floats, i, rest), rest);
        }
    }

    /** {@code product = halves * floats}, rounded to nearest, ties to even. */
    public static void multiply(MemorySegment product, MemorySegment halves, MemorySegment floats) {
        int n = Lanes.count(floats);
        int i = 0;
        for (; i <= n - Lanes.WIDTH; i += Lanes.WIDTH) {
            store(product, i, load(halves, i).mul(Lanes.load(floats, i)));
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            store(product, i, load(halves, i, rest).mul(Lanes.load(floats, i, rest)), rest);
        }
    }

    private static FloatVector floats(ShortVector halves) {
        return ((IntVector) halves.convertShape(VectorOperators.ZERO_EXTEND_S2I, I32, 0))
            .lanewise(VectorOperators.LSHL, Short.SIZE).reinterpretAsFloats();
    }

    /** Replaces NaN lanes with a NaN whose bits survive rounding. */
    private static FloatVector quiet(FloatVector floats) {
        return floats.blend(Float.NaN, floats.test(VectorOperators.IS_NAN));
    }

    /** Rounds up by a carry into the upper half; the successor of the largest number is infinity. */
    private static ShortVector halves(FloatVector floats) {
        IntVector bits = floats.reinterpretAsInts();
        IntVector tie = bits.lanewise(VectorOperators.LSHR, Short.SIZE).and(1);
        return (ShortVector) bits.add(BELOW_HALF).add(tie).lanewise(VectorOperators.LSHR, Short.SIZE)
            .convertShape(VectorOperators.I2S, I16, 0);
    }
}
