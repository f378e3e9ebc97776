package org.isobar.backend.cpu.onednn;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.parallel.Tiling;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.product.Matmul;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.backend.cpu.product.Packing;

/**
 * A matrix product whose right operand is packed first, once per column panel; then the tiles are computed. A panel is
 * as wide as a tile.
 */
public final class PackedProduct {
    private final Tiling tiling;
    private final Matrix c;
    private final Matrix a;
    private final Matrix b;
    private final Packing[] packings;
    private final Matmul[] products;

    /** Epilogue on a tile of the result, run while the tile is in cache. */
    @FunctionalInterface
    public interface After {
        /** Processes one tile. */
        void accept(Tiling.Tile tile);
    }

    /**
     * Creates the product. Compiles whatever is not in the cache yet.
     *
     * @param tiling of the result
     * @param c      the result, (m, n)
     * @param a      (m, k)
     * @param b      (k, n)
     * @param k      terms of a sum
     */
    public PackedProduct(MatmulCache matmuls, Tiling tiling, Matrix c, Matrix a, Matrix b, long k,
        Matmul.Finish finish) {
        this.tiling = tiling;
        this.c = c;
        this.a = a;
        this.b = b;
        packings = new Packing[Tiling.KINDS];
        products = new Matmul[Tiling.KINDS];
        for (Tiling.Tile tile : tiling.kinds()) {
            int kind = tiling.kind(tile);
            packings[kind] = matmuls.packing(b, k, tile.width(), tiling.height(), c.dtype());
            products[kind] = matmuls.matmul(packings[kind], tile.height(), a, c, finish);
        }
    }

    /** Bytes of the packed panels, a multiple of the cache line size. */
    public long bytes() {
        return panel() * (tiling.across() - 1) + packings[tiling.kind(tiling.tile(tiling.across() - 1))].bytes();
    }

    private long panel() {
        return packings[0].bytes();
    }

    /**
     * Computes the product.
     *
     * @param room memory for the panels
     * @param bias address of the bias (n), if one is added
     */
    public void run(WorkerPool pool, MemorySegment room, long bias, After after) {
        assert room.byteSize() >= bytes() : room.byteSize() + " bytes for " + bytes();
        long packed = room.address();
        pool.runApart(tiling.across(), (worker, panel) -> {
            Tiling.Tile tile = tiling.tile(panel);
            packings[tiling.kind(tile)].pack(worker, packed + panel * panel(), b.at(0, tile.column()));
        });
        pool.runApart(tiling.count(), (worker, task) -> {
            Tiling.Tile tile = tiling.tile(task);
            products[tiling.kind(tile)].run(worker, c.at(tile.row(), tile.column()), a.at(tile.row(), 0),
                packed + task % tiling.across() * panel(), bias + tile.column() * c.dtype().bytes());
            after.accept(tile);
        });
    }
}
