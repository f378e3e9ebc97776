package org.isobar.backend.cpu;

import static org.isobar.backend.cpu.Lanes.WIDTH;
import static org.isobar.backend.cpu.Lanes.load;
import static org.isobar.backend.cpu.Lanes.slice;
import static org.isobar.backend.cpu.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.VectorMask;

import org.isobar.device.Epilogue;
import org.isobar.device.Write;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/**
 * Matrix products of the linear layers. Their results are cut into tiles; one call of oneDNN computes a tile, and what
 * follows is done while the tile is in cache.
 */
final class CpuProducts {
    /** Columns that one task sums over the chunks of rows. */
    private static final int COLUMNS = 128;

    private final WorkerPool pool;
    private final Workspace workspace;
    private final Matmuls matmuls;

    CpuProducts(WorkerPool pool, Workspace workspace, Matmuls matmuls) {
        this.pool = pool;
        this.workspace = workspace;
        this.matmuls = matmuls;
    }

    /** Makes room for a transposed weight. */
    static void reserve(Workspace workspace, long weightElements) {
        workspace.floats(weightElements);
    }

    void linear(Tensor y, Tensor x, Tensor weight, Epilogue epilogue) {
        long n = weight.shape().extent(0);
        long k = weight.elements() / n;
        MemorySegment transposed = workspace.floats(n * k);
        Transposition.run(pool, transposed, HostStorage.of(weight), n, k); // or each task would, for its tile
        Matrix a = matrix(x, k);
        Matrix b = Matrix.of(transposed, n);
        Tiling tiling = Tiling.of(y.elements() / n, n);
        switch (epilogue) {
            case Epilogue.None() ->
                tiling.run(pool, tile -> product(matrix(y, n), k, a, b, Write.OVERWRITE, tile));
            case Epilogue.Bias(Tensor bias) -> tiling.run(pool, tile -> {
                product(matrix(y, n), k, a, b, Write.OVERWRITE, tile);
                addToRows(y, bias, tile);
            });
            case Epilogue.BiasGelu(Tensor bias, Tensor preActivation) -> tiling.run(pool, tile -> {
                product(matrix(preActivation, n), k, a, b, Write.OVERWRITE, tile);
                addToRows(preActivation, bias, tile);
                activate(y, preActivation, n, tile);
            });
        }
    }

    void linearBackwardInput(Tensor dx, Tensor dy, Tensor weight, Write write) {
        long n = weight.shape().extent(0);
        long k = weight.elements() / n;
        Matrix a = matrix(dy, n);
        Matrix b = matrix(weight, k);
        Tiling.of(dx.elements() / k, k).run(pool, tile -> product(matrix(dx, k), n, a, b, write, tile));
    }

    void linearBackwardWeight(Tensor dWeight, Tensor dy, Tensor x) {
        long n = dWeight.shape().extent(0);
        long k = dWeight.elements() / n;
        long m = dy.elements() / n;
        Matrix a = matrix(dy, n).transpose();
        Matrix b = matrix(x, k);
        Tiling.of(n, k).run(pool, tile -> product(matrix(dWeight, k), m, a, b, Write.ADD, tile));
    }

    void biasBackward(Tensor dBias, Tensor dy) {
        long n = dBias.elements();
        long m = dy.elements() / n;
        MemorySegment dys = HostStorage.of(dy);
        MemorySegment dBiases = HostStorage.of(dBias);
        int chunks = (int) Math.min(Workspace.CHUNKS, m);
        MemorySegment sums = workspace.floats(chunks * n); // (chunks, N)
        pool.run(chunks, chunk -> addRows(slice(sums, chunk * n, (chunk + 1) * n),
            slice(dys, m * chunk / chunks * n, m * (chunk + 1) / chunks * n)));
        Chunks.run(pool, n, COLUMNS, (from, to) -> {
            for (long column = from; column < to; column++) {
                double sum = dBiases.getAtIndex(ValueLayout.JAVA_FLOAT, column);
                for (int chunk = 0; chunk < chunks; chunk++) {
                    sum += sums.getAtIndex(ValueLayout.JAVA_FLOAT, chunk * n + column);
                }
                dBiases.setAtIndex(ValueLayout.JAVA_FLOAT, column, (float) sum);
            }
        });
    }

    private static Matrix matrix(Tensor tensor, long columns) {
        return Matrix.of(tensor, columns);
    }

    /** One tile of {@code c = a b} or {@code c += a b}; sums have {@code k} terms. */
    private static void product(Matrix c, long k, Matrix a, Matrix b, Write write, Tiling.Tile tile) {
        OneDnn.product(c.at(tile.row(), tile.column()), tile.height(), tile.width(), k, a.at(tile.row(), 0),
            b.at(0, tile.column()), 1, write);
    }

    private static void addToRows(Tensor y, Tensor bias, Tiling.Tile tile) {
        long n = bias.elements();
        MemorySegment ys = HostStorage.of(y);
        MemorySegment part = slice(HostStorage.of(bias), tile.column(), tile.column() + tile.width());
        for (long r = tile.row(); r < tile.row() + tile.height(); r++) {
            long first = r * n + tile.column();
            add(slice(ys, first, first + tile.width()), part);
        }
    }

    private static void activate(Tensor y, Tensor x, long n, Tiling.Tile tile) {
        MemorySegment ys = HostStorage.of(y);
        MemorySegment xs = HostStorage.of(x);
        for (long r = tile.row(); r < tile.row() + tile.height(); r++) {
            long first = r * n + tile.column();
            CpuGelu.forward(slice(ys, first, first + tile.width()), slice(xs, first, first + tile.width()));
        }
    }

    /** {@code sum} = sum over the rows of {@code x}, which are as long as {@code sum}. */
    private static void addRows(MemorySegment sum, MemorySegment x) {
        sum.fill((byte) 0);
        long n = Lanes.count(sum);
        for (long first = 0; first < Lanes.count(x); first += n) {
            add(sum, slice(x, first, first + n));
        }
    }

    /** {@code y += x}. */
    private static void add(MemorySegment y, MemorySegment x) {
        int n = Lanes.count(y);
        int i = 0;
        for (; i <= n - WIDTH; i += WIDTH) {
            store(y, i, load(y, i).add(load(x, i)));
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            store(y, i, load(y, i, rest).add(load(x, i, rest)), rest);
        }
    }
}
