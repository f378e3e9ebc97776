package org.isobar.data.source;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * A one-dimensional array of doubles that is in memory, such as the coordinates that a file of metadata has.
 *
 * @param name       its name, and that of its dimension
 * @param values     its elements
 * @param attributes its attributes
 */
record MemoryArray(String name, double[] values, ArrayAttributes attributes) implements StoredArray {
    @Override
    public List<String> dims() {
        return List.of(name);
    }

    @Override
    public int[] shape() {
        return new int[] {values.length};
    }

    @Override
    public NumberType type() {
        return NumberType.F64;
    }

    @Override
    public int[] chunk() {
        return new int[] {1};
    }

    @Override
    public void read(int[] start, int[] count, MemorySegment target) {
        MemorySegment.copy(MemorySegment.ofArray(values), (long) start[0] * Double.BYTES, target, 0,
            (long) count[0] * Double.BYTES);
    }
}
