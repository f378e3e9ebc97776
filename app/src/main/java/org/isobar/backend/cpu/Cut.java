package org.isobar.backend.cpu;

/**
 * How a range is cut into blocks.
 *
 * @param extent length of the range
 * @param side   length of a block, the last one's apart
 */
record Cut(long extent, int side) {
    /** Cuts a range into equal blocks of about {@code most} at most, of whole vectors. */
    static Cut of(long extent, int most) {
        return new Cut(extent, Tiling.side(extent, most));
    }

    /** Number of blocks. */
    int blocks() {
        return Chunks.count(extent, side);
    }

    /** Where the given block begins. */
    long first(int block) {
        return (long) block * side;
    }

    /** Length of the given block. */
    int length(int block) {
        return (int) Math.min(side, extent - first(block));
    }
}
