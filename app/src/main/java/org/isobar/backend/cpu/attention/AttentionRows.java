package org.isobar.backend.cpu.attention;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.generated.RowCode;
import org.isobar.tensor.DType;

/**
 * Rows of elements in memory.
 *
 * @param memory contains the rows
 * @param first  index of the first element
 * @param stride elements from one row to the next
 */
record AttentionRows(MemorySegment memory, int first, int stride) {
    /** Index of a row's first element. */
    int at(int row) {
        return first + row * stride;
    }

    /** Returns {@code rows} rows of {@code count} elements of a type as operands of generated code. */
    RowCode.Rows operand(DType dtype, int rows, int count) {
        long elements = (long) at(rows - 1) + count - first;
        return new RowCode.Rows(memory.asSlice((long) first * dtype.bytes(), elements * dtype.bytes()), dtype, stride);
    }
}
