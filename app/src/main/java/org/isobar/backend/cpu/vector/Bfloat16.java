package org.isobar.backend.cpu.vector;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/** Vectors of floats from and to memory that holds BF16, the upper halves of floats. Indices count elements. */
public final class Bfloat16 {
    private static final VectorSpecies<Integer> I32 = IntVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Short> I16 =
        VectorSpecies.of(short.class, VectorShape.forBitSize(I32.vectorBitSize() / 2));
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();
    private static final int SHIFT = 1;
    /** Just less than half of what the lowest bit that is kept is worth. */
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
     * Rounds to nearest, ties to even; of no lane that is NaN. In innermost loops {@link #store} is more than the
     * compiler takes in without making objects of vectors, and its care for the bits of NaN makes the difference.
     */
    public static void storeNumbers(MemorySegment halves, int index, FloatVector vector) {
        halves(vector).intoMemorySegment(halves, (long) index << SHIFT, ORDER);
    }

    /** Rounds to nearest, ties to even. */
    public static void store(MemorySegment halves, int index, FloatVector vector, VectorMask<Float> mask) {
        halves(quiet(vector)).intoMemorySegment(halves, (long) index << SHIFT, ORDER, mask.cast(I16));
    }

    /** The first {@code count} lanes, which may be all; the others are zero. */
    public static FloatVector load(MemorySegment halves, int index, int count) {
        return load(halves, index, Lanes.below(0, count));
    }

    /** Stores the first {@code count} lanes, which may be all. */
    public static void store(MemorySegment halves, int index, FloatVector vector, int count) {
        ShortVector rounded = halves(quiet(vector));
        if (count == Lanes.WIDTH) {
            rounded.intoMemorySegment(halves, (long) index << SHIFT, ORDER);
        } else {
            rounded.intoMemorySegment(halves, (long) index << SHIFT, ORDER, Lanes.below(0, count).cast(I16));
        }
    }

    /** {@code floats = halves}. */
    static void widen(MemorySegment floats, MemorySegment halves) {
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
    static void narrow(MemorySegment halves, MemorySegment floats) {
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

    private static FloatVector floats(ShortVector halves) {
        return ((IntVector) halves.convertShape(VectorOperators.ZERO_EXTEND_S2I, I32, 0))
            .lanewise(VectorOperators.LSHL, Short.SIZE).reinterpretAsFloats();
    }

    /** NaN with the bits that stay NaN when they are rounded. */
    private static FloatVector quiet(FloatVector floats) {
        return floats.blend(Float.NaN, floats.test(VectorOperators.IS_NAN));
    }

    /** A carry into the upper half rounds up; what follows the largest number is infinity. */
    private static ShortVector halves(FloatVector floats) {
        IntVector bits = floats.reinterpretAsInts();
        IntVector tie = bits.lanewise(VectorOperators.LSHR, Short.SIZE).and(1);
        return (ShortVector) bits.add(BELOW_HALF).add(tie).lanewise(VectorOperators.LSHR, Short.SIZE)
            .convertShape(VectorOperators.I2S, I16, 0);
    }
}
