package org.isobar.backend.cpu;

import static org.isobar.backend.cpu.Lanes.WIDTH;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

import org.isobar.tensor.DType;

/** What attention does with elements of either type. Indices count elements; sums and factors are floats. */
final class AttentionElements {
    private static final VectorSpecies<Short> I16 =
        VectorSpecies.of(short.class, VectorShape.forBitSize(Lanes.F32.vectorBitSize() / 2));

    private static final int BELOW_HALF = 0x7FFF;

    private AttentionElements() { }

    /**
     * Stores a vector of weights or of their like in a tile. In the innermost loops {@link Bfloat16#store} is more than
     * the compiler takes in without making objects of vectors. What makes the difference, its care for the bits of NaN,
     * is not needed here: arithmetic on BF16 yields none that rounding carries away.
     */
    static void storeTile(DType dtype, MemorySegment memory, int index, FloatVector vector) {
        if (dtype == DType.F32) {
            Lanes.store(memory, index, vector);
        } else {
            IntVector bits = vector.reinterpretAsInts();
            IntVector tie = bits.lanewise(VectorOperators.LSHR, Short.SIZE).and(1);
            bits.add(BELOW_HALF).add(tie).lanewise(VectorOperators.LSHR, Short.SIZE)
                .convertShape(VectorOperators.I2S, I16, 0)
                .intoMemorySegment(memory, (long) index << 1, ByteOrder.nativeOrder());
        }
    }

    private static void store(DType dtype, MemorySegment memory, int index, FloatVector vector) {
        if (dtype == DType.F32) {
            Lanes.store(memory, index, vector);
        } else {
            Bfloat16.store(memory, index, vector);
        }
    }

    private static void store(DType dtype, MemorySegment memory, int index, FloatVector vector,
        VectorMask<Float> mask) {
        if (dtype == DType.F32) {
            Lanes.store(memory, index, vector, mask);
        } else {
            Bfloat16.store(memory, index, vector, mask);
        }
    }

    /** {@code to = factor * from} for {@code count} elements, those of {@code from} being floats. */
    static void scale(DType dtype, MemorySegment to, int toFirst, MemorySegment from, int fromFirst, int count,
        float factor) {
        int i = 0;
        for (; i <= count - WIDTH; i += WIDTH) {
            store(dtype, to, toFirst + i, Lanes.load(from, fromFirst + i).mul(factor));
        }
        if (i < count) {
            VectorMask<Float> rest = Lanes.below(i, count);
            store(dtype, to, toFirst + i, Lanes.load(from, fromFirst + i, rest).mul(factor), rest);
        }
    }

    /** {@code to = x * y} for the first {@code count} elements, whole vectors, those of x and y being floats. */
    static void multiply(DType dtype, MemorySegment to, MemorySegment x, MemorySegment y, int count) {
        for (int i = 0; i < count; i += WIDTH) {
            storeTile(dtype, to, i, Lanes.load(x, i).mul(Lanes.load(y, i)));
        }
    }

    /** Sum of the products of {@code count} elements of x and y, from {@code first} on. */
    static float dot(DType dtype, MemorySegment x, MemorySegment y, int first, int count) {
        return dtype == DType.F32 ? dot(x, y, first, count) : dotBfloat16(x, y, first, count);
    }

    private static float dot(MemorySegment x, MemorySegment y, int first, int count) {
        FloatVector sum = FloatVector.zero(Lanes.F32);
        int i = 0;
        for (; i <= count - WIDTH; i += WIDTH) {
            sum = Lanes.load(x, first + i).fma(Lanes.load(y, first + i), sum);
        }
        if (i < count) {
            VectorMask<Float> rest = Lanes.below(i, count);
            sum = Lanes.load(x, first + i, rest).fma(Lanes.load(y, first + i, rest), sum);
        }
        return Lanes.sum(sum);
    }

    private static float dotBfloat16(MemorySegment x, MemorySegment y, int first, int count) {
        FloatVector sum = FloatVector.zero(Lanes.F32);
        int i = 0;
        for (; i <= count - WIDTH; i += WIDTH) {
            sum = Bfloat16.load(x, first + i).fma(Bfloat16.load(y, first + i), sum);
        }
        if (i < count) {
            VectorMask<Float> rest = Lanes.below(i, count);
            sum = Bfloat16.load(x, first + i, rest).fma(Bfloat16.load(y, first + i, rest), sum);
        }
        return Lanes.sum(sum);
    }
}
