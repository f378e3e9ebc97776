package org.isobar.backend.cpu.parallel;

import java.util.Arrays;
import java.util.List;

/**
 * The tiles of a product's result; each tile is one task. The tiles depend only on the result's shape and on the
 * operand size passed in. Sums are never split.
 *
 * @param rows    rows of the result
 * @param columns columns of the result
 * @param height  rows of a tile; the last row of tiles may be shorter
 * @param width   columns of a tile; the last column of tiles may be narrower
 */
public record Tiling(long rows, long columns, int height, int width) {
    /** Columns that oneDNN packs side by side. Packed operands are padded to a multiple of it. */
    public static final int PACKED = 64;

    /** Number of tile sizes: whole tiles, tiles of the last row, tiles of the last column, and the corner tile. */
    public static final int KINDS = 4;

    /**
     * Bytes of an operand that stay in the last-level cache beside other data. A 32 MB cache held a 9 MB operand but
     * not a 16 MB one.
     */
    private static final long CACHED = 12L << 20;

    /** Tile sides are multiples of this many elements, which are whole cache lines. */
    private static final int LINE = 16;

    /**
     * Returns the tiles of a product whose right operand is packed. Wide tiles are the fastest. However, threads share
     * the packing only if there are several panels, and with few tiles threads idle until the last tile is done. Each
     * row of tiles reads the whole right operand; if that operand does not stay in cache, few high rows of tiles are
     * used.
     *
     * @param right bytes of the right operand
     */
    public static Tiling packed(long rows, long columns, long right) {
        return first(12,
            right > CACHED ? of(rows, columns, 256, PACKED, PACKED) : of(rows, columns, 64, 3 * PACKED, PACKED),
            of(rows, columns, 128, PACKED, PACKED), of(rows, columns, 64, PACKED, PACKED));
    }

    /** Returns the tiles of a product with unpacked operands. */
    public static Tiling plain(long rows, long columns) {
        return first(8, of(rows, columns, 128, 192, LINE), of(rows, columns, 64, 192, LINE),
            of(rows, columns, 64, 96, LINE));
    }

    /**
     * Returns the tiles of a weight gradient. Its sums go over all tokens, and its operands do not stay in cache. With
     * larger tiles, the operands are read less often, and the left one is transposed less often.
     */
    public static Tiling gradient(long rows, long columns) {
        return first(8, of(rows, columns, 512, 512, LINE), of(rows, columns, 256, 512, LINE),
            of(rows, columns, 192, 384, LINE), of(rows, columns, 96, 192, LINE), of(rows, columns, 96, 96, LINE));
    }

    /** Returns the first tiling with at least {@code fewest} tiles, or the last one if there is none. */
    private static Tiling first(int fewest, Tiling... tilings) {
        return Arrays.stream(tilings).filter(tiling -> tiling.count() >= fewest).findFirst()
            .orElse(tilings[tilings.length - 1]);
    }

    private static Tiling of(long rows, long columns, int height, int width, int unit) {
        return new Tiling(rows, columns, side(rows, height), side(columns, width, unit));
    }

    /**
     * Returns the length of the pieces when {@code extent} is cut into equal pieces of about {@code most} elements or
     * fewer.
     */
    static int side(long extent, int most) {
        return side(extent, most, LINE);
    }

    private static int side(long extent, int most, int unit) {
        long even = Math.ceilDiv(extent, Math.ceilDiv(extent, most));
        return Math.toIntExact(Math.ceilDiv(even, unit) * unit);
    }

    /** Returns an index below {@link #KINDS}, equal for tiles of the same size. The first tile has index zero. */
    public int kind(Tile tile) {
        return (tile.height < tile(0).height ? 2 : 0) + (tile.width < tile(0).width ? 1 : 0);
    }

    /** Returns one tile of each size. */
    public List<Tile> kinds() {
        int last = count() - 1;
        return List.of(tile(0), tile(across() - 1), tile(last - across() + 1), tile(last));
    }

    /** Number of tiles. */
    public int count() {
        return Math.toIntExact(Math.ceilDiv(rows, height) * across());
    }

    /** Number of tiles in a row of tiles. */
    public int across() {
        return Math.toIntExact(Math.ceilDiv(columns, width));
    }

    /** Returns a tile by its index, which is below {@link #count}. */
    public Tile tile(int index) {
        long row = (long) (index / across()) * height;
        long column = (long) (index % across()) * width;
        return new Tile(row, column, Math.min(height, rows - row), Math.min(width, columns - column));
    }

    /**
     * One tile.
     *
     * @param row    its first row
     * @param column its first column
     * @param height its rows
     * @param width  its columns
     */
    public record Tile(long row, long column, long height, long width) { }
}
