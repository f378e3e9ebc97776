package org.isobar.backend.cpu.parallel;

import java.util.Arrays;
import java.util.List;

/**
 * How the result of a product is cut into tiles, one task each. The cut depends on the result's shape alone. Sums are
 * never cut.
 *
 * @param rows    rows of the result
 * @param columns columns of the result
 * @param height  rows of a tile, the last ones apart
 * @param width   columns of a tile, the last ones apart
 */
public record Tiling(long rows, long columns, int height, int width) {
    /** Columns that oneDNN packs side by side; what is packed is filled up to a multiple of them. */
    public static final int PACKED = 64;

    /** Sizes that tiles have: whole ones, and those of the last row and column. */
    public static final int KINDS = 4;

    /** Bytes that stay in the last cache beside other things. One of 32 MB held 9 of an operand, and 16 no longer. */
    private static final long CACHED = 12L << 20;

    /** Tile sides are multiples of this many elements: whole cache lines. */
    private static final int LINE = 16;

    /**
     * The tiles of a product whose right operand is packed. Wide ones are the fastest; but threads pack together only
     * where there are several panels, and threads wait for the last of few tiles. Each row of tiles reads the whole
     * right operand: of one that does not stay in cache, few high rows do.
     *
     * @param right bytes of the right operand
     */
    public static Tiling packed(long rows, long columns, long right) {
        return first(12,
            right > CACHED ? of(rows, columns, 256, PACKED, PACKED) : of(rows, columns, 64, 3 * PACKED, PACKED),
            of(rows, columns, 128, PACKED, PACKED), of(rows, columns, 64, PACKED, PACKED));
    }

    /** The tiles of a product that takes both operands as they lie. */
    public static Tiling plain(long rows, long columns) {
        return first(8, of(rows, columns, 128, 192, LINE), of(rows, columns, 64, 192, LINE),
            of(rows, columns, 64, 96, LINE));
    }

    /**
     * The tiles of a weight's gradient. Its sums go over all tokens, and its operands do not stay in cache: the larger
     * the tiles, the less often they are read, and the left one transposed.
     */
    public static Tiling gradient(long rows, long columns) {
        return first(8, of(rows, columns, 512, 512, LINE), of(rows, columns, 256, 512, LINE),
            of(rows, columns, 192, 384, LINE), of(rows, columns, 96, 192, LINE), of(rows, columns, 96, 96, LINE));
    }

    /** The first that has at least {@code fewest} tiles, or else the last. */
    private static Tiling first(int fewest, Tiling... tilings) {
        return Arrays.stream(tilings).filter(tiling -> tiling.count() >= fewest).findFirst()
            .orElse(tilings[tilings.length - 1]);
    }

    private static Tiling of(long rows, long columns, int height, int width, int unit) {
        return new Tiling(rows, columns, side(rows, height), side(columns, width, unit));
    }

    /** Length of the pieces when {@code extent} is cut into equal ones of about {@code most} elements at most. */
    static int side(long extent, int most) {
        return side(extent, most, LINE);
    }

    private static int side(long extent, int most, int unit) {
        long even = Math.ceilDiv(extent, Math.ceilDiv(extent, most));
        return Math.toIntExact(Math.ceilDiv(even, unit) * unit);
    }

    /** A number, below {@link #KINDS}, that tiles of the same size share; zero is that of the first tile. */
    public int kind(Tile tile) {
        return (tile.height < tile(0).height ? 2 : 0) + (tile.width < tile(0).width ? 1 : 0);
    }

    /** A tile of each size. */
    public List<Tile> kinds() {
        int last = count() - 1;
        return List.of(tile(0), tile(across() - 1), tile(last - across() + 1), tile(last));
    }

    /** Number of tiles. */
    public int count() {
        return Math.toIntExact(Math.ceilDiv(rows, height) * across());
    }

    /** Number of tiles side by side. */
    public int across() {
        return Math.toIntExact(Math.ceilDiv(columns, width));
    }

    /** A tile, by its number below {@link #count}. */
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
