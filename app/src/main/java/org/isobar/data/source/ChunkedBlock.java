package org.isobar.data.source;

import java.lang.foreign.MemorySegment;

/** Reads a block of an array that is stored in chunks: each chunk that has a part of it is decoded once. */
public final class ChunkedBlock {
    private final int[] start;
    private final int[] count;
    private final int[] chunk;
    private final int elementBytes;
    private final MemorySegment target;

    private ChunkedBlock(int[] start, int[] count, int[] chunk, int elementBytes, MemorySegment target) {
        this.start = start;
        this.count = count;
        this.chunk = chunk;
        this.elementBytes = elementBytes;
        this.target = target;
    }

    /** Decodes chunks. */
    public interface Decoder {
        /**
         * The elements of a chunk, row-major. A chunk at the edge of the array has its full extents.
         *
         * @param index number of the chunk in each dimension
         */
        MemorySegment decode(int[] index);
    }

    /**
     * Reads a block as {@link StoredArray#read} does, without changing the byte order.
     *
     * @param start        index of the first element, by dimension
     * @param count        extents of the block
     * @param chunk        extents of a chunk
     * @param elementBytes size of an element
     */
    public static void read(int[] start, int[] count, int[] chunk, int elementBytes, MemorySegment target,
                            Decoder decoder) {
        if (count.length == 0) {
            MemorySegment.copy(decoder.decode(start), 0, target, 0, elementBytes);
        } else if (StoredArray.elements(count) > 0) {
            new ChunkedBlock(start, count, chunk, elementBytes, target).walk(new int[start.length], 0, decoder);
        }
    }

    /** Visits the chunks of all dimensions from {@code dim} on. */
    private void walk(int[] index, int dim, Decoder decoder) {
        if (dim == index.length) {
            copy(decoder.decode(index.clone()), index, 0, 0, 0);
            return;
        }
        int last = (start[dim] + count[dim] - 1) / chunk[dim];
        for (index[dim] = start[dim] / chunk[dim]; index[dim] <= last; index[dim]++) {
            walk(index, dim + 1, decoder);
        }
    }

    /** Copies what chunk and block share. {@code from} and {@code to} count elements of the dimensions before. */
    private void copy(MemorySegment decoded, int[] index, int dim, long from, long to) {
        long origin = (long) index[dim] * chunk[dim];
        long first = Math.max(start[dim], origin);
        long end = Math.min((long) start[dim] + count[dim], origin + chunk[dim]);
        long source = from * chunk[dim] + first - origin;
        long place = to * count[dim] + first - start[dim];
        if (dim == index.length - 1) {
            MemorySegment.copy(decoded, source * elementBytes, target, place * elementBytes,
                (end - first) * elementBytes);
            return;
        }
        for (long i = 0; i < end - first; i++) {
            copy(decoded, index, dim + 1, source + i, place + i);
        }
    }
}
