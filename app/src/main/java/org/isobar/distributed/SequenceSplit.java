package org.isobar.distributed;

import java.util.Arrays;

/**
 * Splits a sequence into consecutive parts, one per rank of a group, whose sizes may differ. Each part but the last has
 * ceil(size / n) entries and the last has the remainder. If the last would be empty, each but the last has
 * floor(size / n) instead. 4050 over 4 is 1013, 1013, 1013, 1011.
 */
public final class SequenceSplit {
    private SequenceSplit() { }

    /**
     * The sizes of {@code parts} parts of {@code size} entries, in order.
     *
     * @throws IllegalArgumentException if there are fewer entries than parts
     */
    public static long[] sizes(long size, int parts) {
        if (parts < 1 || size < parts) {
            throw new IllegalArgumentException("cannot split " + size + " entries into " + parts + " parts");
        }
        long each = Math.ceilDiv(size, parts);
        if (each * (parts - 1) >= size) {
            each = size / parts;
        }
        long[] sizes = new long[parts];
        Arrays.fill(sizes, each);
        sizes[parts - 1] = size - each * (parts - 1);
        return sizes;
    }

    /** The first entry of part {@code index}. */
    public static long start(long size, int parts, int index) {
        return sizes(size, parts)[0] * index;
    }
}
