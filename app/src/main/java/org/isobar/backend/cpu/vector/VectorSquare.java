package org.isobar.backend.cpu.vector;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;

import jdk.incubator.vector.FloatVector;

import org.isobar.tensor.DType;

/**
 * A square buffer of as many vectors as a vector has lanes, which can be transposed. Not thread-safe.
 *
 * <p>Zipping the upper half of the rows with the lower half moves the element at index i to the index whose bits are
 * those of i rotated by one. After as many zips as a row index has bits, half of those of i, rows and columns are
 * exchanged.
 */
public final class VectorSquare {
    private static final FloatVector FIRST_PAIRS = pairs(0);
    private static final FloatVector LAST_PAIRS = pairs(WIDTH / 2);

    private float[] rows = new float[WIDTH * WIDTH];
    private float[] zipped = new float[WIDTH * WIDTH];

    /**
     * Fills rows {@code first} to {@code end} with {@code count} elements each; rows are {@code stride} apart in
     * memory.
     */
    public void read(int first, int end, FloatView from, int index, int stride, int count) {
        int at = index;
        for (int row = first; row < end; row++, at += stride) {
            if (from.dtype() == DType.F32) {
                Lanes.load(from.memory(), at, count).intoArray(rows, row * WIDTH);
            } else {
                Bfloat16.load(from.memory(), at, count).intoArray(rows, row * WIDTH);
            }
        }
    }

    /**
     * Stores {@code count} elements of each of rows {@code first} to {@code end}; rows are {@code stride} apart in
     * memory.
     */
    public void write(int first, int end, FloatView to, int index, int stride, int count) {
        int at = index;
        for (int row = first; row < end; row++, at += stride) {
            FloatVector vector = FloatVector.fromArray(Lanes.F32, rows, row * WIDTH);
            if (to.dtype() == DType.F32) {
                Lanes.store(to.memory(), at, vector, count);
            } else {
                Bfloat16.store(to.memory(), at, vector, count);
            }
        }
    }

    /** Exchanges rows and columns. */
    public void transpose() {
        for (int side = 1; side < WIDTH; side *= 2) {
            zip(zipped, rows);
            float[] swapped = rows;
            rows = zipped;
            zipped = swapped;
        }
    }

    /** Lane indices, in two consecutive vectors, that interleave them pairwise starting at lane {@code first}. */
    private static FloatVector pairs(int first) {
        float[] lanes = new float[WIDTH];
        for (int i = 0; i < WIDTH; i++) {
            lanes[i] = first + i / 2 + i % 2 * WIDTH;
        }
        return FloatVector.fromArray(Lanes.F32, lanes, 0);
    }

    private static void zip(float[] to, float[] from) {
        for (int i = 0; i < WIDTH * WIDTH / 2; i += WIDTH) {
            FloatVector upper = FloatVector.fromArray(Lanes.F32, from, i);
            FloatVector lower = FloatVector.fromArray(Lanes.F32, from, i + WIDTH * WIDTH / 2);
            FIRST_PAIRS.selectFrom(upper, lower).intoArray(to, 2 * i);
            LAST_PAIRS.selectFrom(upper, lower).intoArray(to, 2 * i + WIDTH);
        }
    }
}
