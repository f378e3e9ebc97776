package org.isobar.backend.cpu.parallel;

/**
 * How a range is cut into blocks.
 *
 * @param extent length of the range
 * @param side   length of a block, the last one's apart
 */
public record BlockedRange(long extent, int side) {
    /** Cuts a range into equal blocks of about {@code most} at most, of whole vectors. */
    public static BlockedRange of(long extent, int most) {
        return new BlockedRange(extent, Tiling.side(extent, most));
    }

    /** Number of blocks. */
    public int blocks() {
        return ChunkedRange.count(extent, side);
    }

    /** Where the given block begins. */
    public long first(int block) {
        return (long) block * side;
    }

    /** Length of the given block. */
    public int length(int block) {
        return (int) Math.min(side, extent - first(block));
    }
}
