package org.isobar.backend.cpu.attention;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;

import org.isobar.backend.cpu.vector.Bfloat16;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.tensor.DType;

/** What attention does with elements of either type. Indices count elements; sums and factors are floats. */
final class AttentionElements {
    private AttentionElements() { }

    /**
     * Stores a vector of weights or of their like in a tile. Arithmetic on BF16 yields no NaN that rounding carries
     * away: {@link Bfloat16#storeNumbers} will do.
     */
    static void storeTile(DType dtype, MemorySegment memory, int index, FloatVector vector) {
        if (dtype == DType.F32) {
            Lanes.store(memory, index, vector);
        } else {
            Bfloat16.storeNumbers(memory, index, vector);
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

    private static FloatVector load(DType dtype, MemorySegment memory, int index) {
        return dtype == DType.F32 ? Lanes.load(memory, index) : Bfloat16.load(memory, index);
    }

    private static FloatVector load(DType dtype, MemorySegment memory, int index, VectorMask<Float> mask) {
        return dtype == DType.F32 ? Lanes.load(memory, index, mask) : Bfloat16.load(memory, index, mask);
    }

    /** Sum of the products of {@code count} elements of x and y, from {@code first} on. */
    static float dot(DType dtype, MemorySegment x, MemorySegment y, int first, int count) {
        FloatVector sum = FloatVector.zero(Lanes.F32);
        int i = 0;
        for (; i <= count - WIDTH; i += WIDTH) {
            sum = load(dtype, x, first + i).fma(load(dtype, y, first + i), sum);
        }
        if (i < count) {
            VectorMask<Float> rest = Lanes.below(i, count);
            sum = load(dtype, x, first + i, rest).fma(load(dtype, y, first + i, rest), sum);
        }
        return Lanes.sum(sum);
    }
}
