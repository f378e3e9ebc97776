package org.isobar.distributed;

import java.util.Arrays;

/**
 * A sequence cut into consecutive parts, one for each rank of a group, that need not be equal. Each part has
 * ceil(size / n) entries and the last what is left; if nothing would be left, each has floor(size / n) and the last
 * the rest. 4050 over 4 is 1013, 1013, 1013, 1011.
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
            throw new IllegalArgumentException("cannot cut " + size + " entries into " + parts + " parts");
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
