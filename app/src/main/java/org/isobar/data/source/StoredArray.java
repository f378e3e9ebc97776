package org.isobar.data.source;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/** An array of numbers with named dimensions in an {@link ArrayStore}. Thread-safe. */
public interface StoredArray {
    /** Its name in the store. */
    String name();

    /** Names of its dimensions, outermost first; empty for a single number. */
    List<String> dims();

    /** Extents of its dimensions. None is negative; one may be zero. */
    int[] shape();

    /** Type of its elements, as stored: those of packed data are integers. */
    NumberType type();

    /** Its attributes, for example {@code units}, {@code scale_factor} and {@code _FillValue}. */
    ArrayAttributes attributes();

    /**
     * Extents of the parts that are decompressed as a whole. An array whose elements can be read one by one has 1 for
     * each dimension. A block of whole chunks is read without decompressing any of them twice.
     */
    int[] chunk();

    /** How its elements are stored, for people: chunks and codecs. */
    default String storage() {
        return Arrays.stream(chunk()).allMatch(extent -> extent == 1) ? "not in chunks"
            : "chunks of " + Arrays.toString(chunk());
    }

    /**
     * Reads a block of elements as they are stored, in native byte order and row-major order. Elements of chunks that
     * were never written have the array's fill value. Several threads may read at the same time.
     *
     * @param start  index of the first element, by dimension
     * @param count  extents of the block; it lies within the array
     * @param target receives the block from its first byte on; may be larger, and has any alignment
     * @throws org.isobar.fault.UserException if the block cannot be read; the message names store, array and place
     */
    void read(int[] start, int[] count, MemorySegment target);

    /** Number of elements of a block, or of an array. */
    static long elements(int[] extents) {
        long elements = 1;
        for (int extent : extents) {
            elements = Math.multiplyExact(elements, extent);
        }
        return elements;
    }
}
