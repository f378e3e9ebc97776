package org.isobar.backend.cpu.parallel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.Stream;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever the shape, the tiles of a result make it up. */
class TilingTest {
    private static final long SMALL = 1 << 20;
    private static final long LARGE = 1 << 24;

    private static Stream<Tiling> tilings() {
        return Stream.of(new int[] {1, 1}, new int[] {3, 200}, new int[] {200, 3}, new int[] {512, 192},
            new int[] {1013, 1024}, new int[] {1100, 2060}).flatMap(extents -> {
                int rows = extents[0];
                int columns = extents[1];
                return Stream.of(Tiling.packed(rows, columns, SMALL), Tiling.packed(rows, columns, LARGE),
                    Tiling.plain(rows, columns), Tiling.gradient(rows, columns));
            });
    }

    @ParameterizedTest
    @MethodSource("tilings")
    void everyElementIsInOneTile(Tiling tiling) {
        int columns = (int) tiling.columns();
        int[] tiles = new int[(int) tiling.rows() * columns];
        List<Tiling.Tile> kinds = tiling.kinds();
        for (int task = 0; task < tiling.count(); task++) {
            Tiling.Tile tile = tiling.tile(task);
            assertTrue(kinds.stream().anyMatch(kind -> tiling.kind(kind) == tiling.kind(tile)
                && kind.height() == tile.height() && kind.width() == tile.width()), tile::toString);
            for (long row = tile.row(); row < tile.row() + tile.height(); row++) {
                for (long column = tile.column(); column < tile.column() + tile.width(); column++) {
                    tiles[(int) (row * columns + column)]++;
                }
            }
        }
        for (int i = 0; i < tiles.length; i++) {
            assertEquals(1, tiles[i], "row " + i / columns + ", column " + i % columns);
        }
    }
}
