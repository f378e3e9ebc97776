package org.isobar.backend.cpu.vector;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;

import jdk.incubator.vector.FloatVector;

import org.isobar.tensor.DType;

/**
 * As many vectors as one has lanes: a square whose rows and columns can be exchanged. For the use of one thread.
 *
 * <p>To zip the upper half of the rows with the lower one moves the element at place i of all to where i's bits,
 * rotated by one, point. As many times as half of i has bits, row and column have changed places.
 */
public final class VectorSquare {
    private static final FloatVector FIRST_PAIRS = pairs(0);
    private static final FloatVector LAST_PAIRS = pairs(WIDTH / 2);

    private float[] rows = new float[WIDTH * WIDTH];
    private float[] zipped = new float[WIDTH * WIDTH];

    /** Fills rows {@code first} to {@code end}: {@code count} elements each, {@code stride} apart in memory. */
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

    /** Stores rows {@code first} to {@code end}, {@code count} elements of each, {@code stride} apart in memory. */
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

    /** Makes columns of the rows. */
    public void transpose() {
        for (int side = 1; side < WIDTH; side *= 2) {
            zip(zipped, rows);
            float[] swapped = rows;
            rows = zipped;
            zipped = swapped;
        }
    }

    /** Where, in a vector and the one behind it, the pairs lie that begin with lane {@code first}. */
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
