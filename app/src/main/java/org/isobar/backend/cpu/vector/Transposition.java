package org.isobar.backend.cpu.vector;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;
import static org.isobar.backend.cpu.vector.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.util.stream.IntStream;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;

/**
 * Copies a matrix transposed, one square of vectors at a time: rows are written to a buffer, and columns are gathered
 * from it. Buffer rows are one element longer than a vector, so that the elements of a column do not conflict in cache.
 */
public final class Transposition {
    private static final int STRIDE = WIDTH + 1;
    private static final int[] COLUMN = IntStream.range(0, WIDTH).map(row -> row * STRIDE).toArray();

    private Transposition() { }

    /**
     * Copies a matrix of {@code rows} rows and {@code columns} columns into the columns of a matrix in {@code to}. The
     * source starts at element {@code fromFirst} of {@code from}; its rows are {@code fromStride} elements apart.
     */
    public static void copy(MemorySegment to, long toFirst, long toStride, MemorySegment from, long fromFirst,
        long fromStride, int rows, int columns) {
        float[] buffer = new float[WIDTH * STRIDE];
        for (int row = 0; row < rows; row += WIDTH) {
            for (int column = 0; column < columns; column += WIDTH) {
                VectorMask<Float> across = Lanes.below(column, columns);
                VectorMask<Float> down = Lanes.below(row, rows);
                MemorySegment source = from.asSlice((fromFirst + row * fromStride + column) * Float.BYTES);
                MemorySegment target = to.asSlice((toFirst + column * toStride + row) * Float.BYTES);
                for (int i = 0; i < Math.min(WIDTH, rows - row); i++) {
                    load(source, (int) (i * fromStride), across).intoArray(buffer, i * STRIDE);
                }
                for (int i = 0; i < Math.min(WIDTH, columns - column); i++) {
                    store(target, (int) (i * toStride), FloatVector.fromArray(Lanes.F32, buffer, i, COLUMN, 0), down);
                }
            }
        }
    }
}
