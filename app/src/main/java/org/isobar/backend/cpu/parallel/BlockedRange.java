package org.isobar.backend.cpu.parallel;

/**
 * A range cut into blocks.
 *
 * @param extent length of the range
 * @param side   length of each block; the last one may be shorter
 */
public record BlockedRange(long extent, int side) {
    /** Cuts a range into equal blocks of whole vectors, each of about {@code most} elements or fewer. */
    public static BlockedRange of(long extent, int most) {
        return new BlockedRange(extent, Tiling.side(extent, most));
    }

    /** Number of blocks. */
    public int blocks() {
        return ChunkedRange.count(extent, side);
    }

    /** Start of the given block. */
    public long first(int block) {
        return (long) block * side;
    }

    /** Length of the given block. */
    public int length(int block) {
        return (int) Math.min(side, extent - first(block));
    }
}
