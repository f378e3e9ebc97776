package org.isobar.backend.cpu.attention;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.vector.Lanes;

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

    /** The memory of {@code rows} rows of {@code count} floats, from the first float to the last. */
    MemorySegment floats(int rows, int count) {
        return Lanes.slice(memory, first, (long) at(rows - 1) + count);
    }
}
