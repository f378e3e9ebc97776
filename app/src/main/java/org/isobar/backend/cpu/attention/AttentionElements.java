package org.isobar.backend.cpu.attention;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.slice;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;

import org.isobar.backend.cpu.generated.ArrayCode;
import org.isobar.backend.cpu.generated.RowCode;
import org.isobar.backend.cpu.vector.Bfloat16;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.tensor.DType;

/** Vector operations of attention on F32 and BF16 elements. Indices count elements; sums and factors are floats. */
final class AttentionElements {
    private AttentionElements() { }

    /**
     * Stores a vector of weights, or of their gradients, in a tile. {@link Bfloat16#storeNumbers} suffices: arithmetic
     * on BF16 values yields no NaN that rounding would turn into another value.
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

    /** Computes {@code to = factor * from} for {@code count} elements; {@code from} is F32. */
    static void scale(DType dtype, MemorySegment to, int toFirst, MemorySegment from, int fromFirst, int count,
        float factor) {
        scale(dtype, to, toFirst, from, fromFirst, count, factor, dtype == DType.F32
            ? ArrayCode.scale(slice(to, toFirst, toFirst + count), slice(from, fromFirst, fromFirst + count), factor)
            : 0);
    }

    /** Computes the elements from {@code done} on. */
    static void scale(DType dtype, MemorySegment to, int toFirst, MemorySegment from, int fromFirst, int count,
        float factor, int done) {
        int i = done;
        for (; i <= count - WIDTH; i += WIDTH) {
            store(dtype, to, toFirst + i, Lanes.load(from, fromFirst + i).mul(factor));
        }
        if (i < count) {
            VectorMask<Float> rest = Lanes.below(i, count);
            store(dtype, to, toFirst + i, Lanes.load(from, fromFirst + i, rest).mul(factor), rest);
        }
    }

    /** Computes {@code to = x * y} for the first {@code count} elements, in whole vectors; x and y are F32. */
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

    /**
     * Computes {@code to = factor * from} for {@code count} elements of each row; {@code from} is F32.
     *
     * @param factors one for each row
     */
    static void scaleRows(RowCode.Rows to, RowCode.Rows from, RowCode.Rows factors, int rows, int count) {
        if (RowCode.suits(to.dtype(), count)) {
            RowCode.scale(to, from, factors, rows, count);
            return;
        }
        for (int row = 0; row < rows; row++) {
            scale(to.dtype(), to.memory(), row * to.stride(), from.memory(), row * from.stride(), count,
                factors.memory().getAtIndex(ValueLayout.JAVA_FLOAT, (long) row * factors.stride()));
        }
    }

    /** Computes the dot product of {@code count} elements of each row of x and of y, which have the same stride. */
    static void dotRows(MemorySegment results, RowCode.Rows x, RowCode.Rows y, int rows, int count) {
        assert x.stride() == y.stride() : x + ", " + y;
        if (RowCode.suits(x.dtype(), count)) {
            RowCode.dot(results, x, y, rows, count);
        } else {
            dotRowsInJava(results, x, y, rows, count);
        }
    }

    static void dotRowsInJava(MemorySegment results, RowCode.Rows x, RowCode.Rows y, int rows, int count) {
        for (int row = 0; row < rows; row++) {
            results.setAtIndex(ValueLayout.JAVA_FLOAT, row,
                dot(x.dtype(), x.memory(), y.memory(), row * x.stride(), count));
        }
    }

    private static float dot(DType dtype, MemorySegment x, MemorySegment y, int first, int count) {
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
