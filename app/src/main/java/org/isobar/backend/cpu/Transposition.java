package org.isobar.backend.cpu;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Copies matrices with rows and columns exchanged. */
final class Transposition {
    /** Side of what one task copies. */
    private static final int BLOCK = 64;
    /** Side of what is copied at a time: few enough lines to stay in cache, however badly their addresses collide. */
    private static final int LINE = 16;

    private Transposition() { }

    /** {@code to = from^T}, with {@code from} (rows, columns) and {@code to} (columns, rows). */
    static void run(WorkerPool pool, MemorySegment to, MemorySegment from, long rows, long columns) {
        Chunks.run(pool, Math.ceilDiv(rows, BLOCK), columns, BLOCK, (block, first, end) -> {
            long row = (long) block * BLOCK;
            copy(to, first * rows + row, rows, from, row * columns + first, columns,
                (int) Math.min(BLOCK, rows - row), (int) (end - first));
        });
    }

    /**
     * Copies a matrix of {@code rows} rows and {@code columns} columns that begins at element {@code fromFirst} of
     * {@code from}, its rows {@code fromStride} elements apart, into the columns of one in {@code to}.
     */
    static void copy(MemorySegment to, long toFirst, long toStride, MemorySegment from, long fromFirst,
        long fromStride, int rows, int columns) {
        for (int row = 0; row < rows; row += LINE) {
            for (int column = 0; column < columns; column += LINE) {
                square(to, toFirst + column * toStride + row, toStride, from, fromFirst + row * fromStride + column,
                    fromStride, Math.min(LINE, rows - row), Math.min(LINE, columns - column));
            }
        }
    }

    private static void square(MemorySegment to, long toFirst, long toStride, MemorySegment from, long fromFirst,
        long fromStride, int rows, int columns) {
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < columns; column++) {
                to.setAtIndex(ValueLayout.JAVA_FLOAT, toFirst + column * toStride + row,
                    from.getAtIndex(ValueLayout.JAVA_FLOAT, fromFirst + row * fromStride + column));
            }
        }
    }
}
