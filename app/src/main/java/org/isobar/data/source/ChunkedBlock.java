package org.isobar.data.source;

import java.lang.foreign.MemorySegment;

/** Reads a block of an array that is stored in chunks: each chunk that has a part of it is decoded once. */
final class ChunkedBlock {
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

    /** Elements of a chunk, row-major. A chunk at the edge of the array has its full extents. */
    interface Chunk {
        /**
         * Copies some elements that are one after another.
         *
         * @param first  number of the first one
         * @param target receives {@code count} elements from its first byte on
         */
        void copy(long first, int count, MemorySegment target);

        /** A chunk whose elements are in memory. */
        static Chunk of(MemorySegment elements, int elementBytes) {
            return (first, count, target) -> MemorySegment.copy(elements, first * elementBytes, target, 0,
                (long) count * elementBytes);
        }
    }

    /** Decodes chunks. */
    interface Decoder {
        /**
         * The elements of a chunk. They are valid until the next call.
         *
         * @param index number of the chunk in each dimension
         */
        Chunk decode(int[] index);
    }

    /**
     * Reads a block as {@link StoredArray#read} does, without changing the byte order.
     *
     * @param start        index of the first element, by dimension
     * @param count        extents of the block
     * @param chunk        extents of a chunk
     * @param elementBytes size of an element
     */
    static void read(int[] start, int[] count, int[] chunk, int elementBytes, MemorySegment target, Decoder decoder) {
        if (count.length == 0) {
            decoder.decode(start).copy(0, 1, target);
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
    private void copy(Chunk decoded, int[] index, int dim, long from, long to) {
        long origin = (long) index[dim] * chunk[dim];
        long first = Math.max(start[dim], origin);
        long end = Math.min((long) start[dim] + count[dim], origin + chunk[dim]);
        long source = from * chunk[dim] + first - origin;
        long place = to * count[dim] + first - start[dim];
        if (dim == index.length - 1) {
            decoded.copy(source, (int) (end - first), target.asSlice(place * elementBytes));
            return;
        }
        for (long i = 0; i < end - first; i++) {
            copy(decoded, index, dim + 1, source + i, place + i);
        }
    }
}
