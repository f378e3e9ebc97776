package org.isobar.backend.cpu;

import java.util.function.Consumer;

/**
 * How the result of a product is cut into tiles, one task each. The cut depends on the result's shape alone. Sums are
 * never cut.
 *
 * @param rows    rows of the result
 * @param columns columns of the result
 * @param height  rows of a tile, the last ones apart
 * @param width   columns of a tile, the last ones apart
 */
record Tiling(long rows, long columns, int height, int width) {
    /** Tiles as small as these cost a product three percent of its speed; those of half their sides, ten. */
    private static final int HEIGHT = 64;
    private static final int WIDTH = 192;
    /** With fewer tasks, some of many threads would stand idle. */
    private static final int FEWEST = 32;
    /** Tile sides are multiples of this many elements: whole cache lines. */
    private static final int LINE = 16;

    /** The tiles of a result of the given extents. */
    static Tiling of(long rows, long columns) {
        Tiling tiling = new Tiling(rows, columns, side(rows, HEIGHT), side(columns, WIDTH));
        return tiling.count() >= FEWEST ? tiling
            : new Tiling(rows, columns, side(rows, HEIGHT / 2), side(columns, WIDTH / 2));
    }

    /** Length of the pieces when {@code extent} is cut into equal ones of about {@code most} elements at most. */
    static int side(long extent, int most) {
        long even = Math.ceilDiv(extent, Math.ceilDiv(extent, most));
        return Math.toIntExact(Math.ceilDiv(even, LINE) * LINE);
    }

    /** Runs {@code body} for each tile. */
    void run(WorkerPool pool, Consumer<Tile> body) {
        pool.run(count(), index -> body.accept(tile(index)));
    }

    /** Number of tiles. */
    int count() {
        return Math.toIntExact(Math.ceilDiv(rows, height) * across());
    }

    /** A tile, by its number below {@link #count}. */
    Tile tile(int index) {
        long row = index / across() * height;
        long column = index % across() * width;
        return new Tile(row, column, Math.min(height, rows - row), Math.min(width, columns - column));
    }

    private long across() {
        return Math.ceilDiv(columns, width);
    }

    /**
     * One tile.
     *
     * @param row    its first row
     * @param column its first column
     * @param height its rows
     * @param width  its columns
     */
    record Tile(long row, long column, long height, long width) { }
}
