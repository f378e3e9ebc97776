package org.isobar.backend.cpu.ops;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;
import static org.isobar.backend.cpu.vector.Lanes.slice;
import static org.isobar.backend.cpu.vector.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Set;
import jdk.incubator.vector.VectorMask;

import org.isobar.backend.cpu.generated.ArrayCode;
import org.isobar.backend.cpu.generated.GeneratedCode;
import org.isobar.backend.cpu.onednn.MatmulCache;
import org.isobar.backend.cpu.onednn.OneDnn;
import org.isobar.backend.cpu.onednn.PackedProduct;
import org.isobar.backend.cpu.parallel.ChunkedRange;
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.parallel.Tiling;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.product.Matmul;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.backend.cpu.vector.WorkerScratch;
import org.isobar.device.Footprint;
import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.ProductOps;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/**
 * Matrix products of linear layers, in F32 or BF16. The result is cut into tiles. One call computes a tile; the
 * epilogue runs while the tile is in cache.
 */
final class CpuProducts implements ProductOps {
    /** Columns that one task sums over the chunks of rows. */
    private static final int COLUMNS = 128;
    /** Minimum number of rows that one task sums: with few chunks, adding up the partial sums is cheap. */
    private static final int ROWS = 64;
    /** Row stride, in floats, at which rows map to the same few cache sets: only a few such rows fit in the cache. */
    private static final int COLLISION = 1024;

    private final WorkerPool pool;
    private final CpuWorkspace workspace;
    private final MatmulCache matmuls;
    private final CpuGelu gelu;

    CpuProducts(WorkerPool pool, CpuWorkspace workspace, MatmulCache matmuls) {
        this.pool = pool;
        this.workspace = workspace;
        this.matmuls = matmuls;
        gelu = new CpuGelu(pool, workspace);
    }

    /** Bytes for a packed weight in single precision. */
    static long workspaceBytes(Footprint footprint) {
        return footprint.largestWeight() * Float.BYTES;
    }

    @Override
    public void linear(Tensor y, Tensor x, Tensor weight, Epilogue epilogue) {
        long n = weight.shape().extent(0);
        long k = weight.elements() / n;
        Matrix a = Matrix.of(x, k);
        Matrix b = Matrix.of(weight, k).transpose();
        switch (epilogue) {
            case Epilogue.None() -> run(product(y, n, a, b, k, Matmul.Finish.OVERWRITE), 0);
            case Epilogue.Bias(Tensor bias) ->
                run(product(y, n, a, b, k, Matmul.Finish.ADD_BIAS), HostStorage.of(bias).address());
            case Epilogue.BiasGelu(Tensor bias, Tensor preActivation) -> {
                PackedProduct product = product(preActivation, n, a, b, k, Matmul.Finish.ADD_BIAS);
                MemorySegment room = room(product);
                FloatView ys = FloatView.of(y);
                FloatView xs = FloatView.of(preActivation);
                product.run(pool, room, HostStorage.of(bias).address(), tile -> activate(ys, xs, n, tile));
            }
        }
    }

    @Override
    public void linearBackwardInput(Tensor dx, Tensor dy, Tensor weight, WriteMode write) {
        long n = weight.shape().extent(0);
        long k = weight.elements() / n;
        Matrix a = Matrix.of(dy, n);
        Matrix b = Matrix.of(weight, k);
        if (usesFunction(weight.dtype()) && k % COLLISION != 0) { // then packing costs more than it saves
            direct(Tiling.plain(dx.elements() / k, k), Matrix.of(dx, k), a, b, n, write);
        } else {
            run(product(dx, k, a, b, n, Matmul.Finish.of(write)), 0);
        }
    }

    /** Starts to compile what computes gradients of operands of these types. */
    static void compileAhead(Set<DType> differentiated) {
        if (differentiated.stream().anyMatch(CpuProducts::usesFunction)) {
            OneDnn.compileAhead();
        }
    }

    /** Whether oneDNN's direct function is the fastest product of unpacked operands. */
    private static boolean usesFunction(DType operands) {
        return operands == DType.F32 && !GeneratedCode.hasDirectProducts();
    }

    /**
     * Returns the product {@code c = a b}, where c has {@code columns} columns and each sum has {@code terms} terms.
     */
    private PackedProduct product(Tensor c, long columns, Matrix a, Matrix b, long terms, Matmul.Finish finish) {
        Tiling tiling = Tiling.packed(c.elements() / columns, columns, terms * columns * b.dtype().bytes());
        return new PackedProduct(matmuls, tiling, Matrix.of(c, columns), a, b, terms, finish);
    }

    private void run(PackedProduct product, long bias) {
        product.run(pool, room(product), bias, tile -> { });
    }

    /** Returns memory for the packed panels. */
    private MemorySegment room(PackedProduct product) {
        return workspace.floats(product.bytes() / Float.BYTES);
    }

    /** Computes the product without packing, because each operand is used only once. */
    @Override
    public void linearBackwardWeight(Tensor dWeight, Tensor dy, Tensor x) {
        long n = dWeight.shape().extent(0);
        long k = dWeight.elements() / n;
        long m = dy.elements() / n;
        Matrix c = Matrix.of(dWeight, k);
        Matrix a = Matrix.of(dy, n).transpose();
        Matrix b = Matrix.of(x, k);
        if (usesFunction(x.dtype())) {
            direct(Tiling.gradient(n, k), c, a, b, m, WriteMode.ADD);
        } else {
            plain(Tiling.gradient(n, k), c, a, b, m);
        }
    }

    /**
     * Computes {@code c = a b} or {@code c += a b} in single precision, on unpacked operands, with sums of {@code
     * terms} terms. A oneDNN primitive takes longer: a fifth longer if the left operand is transposed.
     */
    private void direct(Tiling tiling, Matrix c, Matrix a, Matrix b, long terms, WriteMode write) {
        pool.runApart(tiling.count(), (worker, task) -> {
            Tiling.Tile tile = tiling.tile(task);
            OneDnn.product(c.at(tile.row(), tile.column()), tile.height(), tile.width(), terms, a.at(tile.row(), 0),
                b.at(0, tile.column()), write);
        });
    }

    /** Computes {@code c += a b} on unpacked operands, with sums of {@code terms} terms. */
    private void plain(Tiling tiling, Matrix c, Matrix a, Matrix b, long terms) {
        Matmul[] products = new Matmul[Tiling.KINDS];
        for (Tiling.Tile tile : tiling.kinds()) {
            products[tiling.kind(tile)] =
                matmuls.plain(tile.height(), tile.width(), terms, a, b, c, Matmul.Finish.ADD);
        }
        pool.runApart(tiling.count(), (worker, task) -> {
            Tiling.Tile tile = tiling.tile(task);
            products[tiling.kind(tile)].run(worker, c.at(tile.row(), tile.column()), a.at(tile.row(), 0),
                b.at(0, tile.column()).address());
        });
    }

    @Override
    public void biasBackward(Tensor dBias, Tensor dy) {
        long n = dBias.elements();
        long m = dy.elements() / n;
        FloatView dys = FloatView.of(dy);
        MemorySegment dBiases = HostStorage.of(dBias);
        int chunks = (int) Math.min(CpuWorkspace.CHUNKS, Math.ceilDiv(m, ROWS));
        long scratch = dys.scratch(n);
        MemorySegment room = workspace.floats((chunks + pool.threads()) * n);
        WorkerScratch rows =
            new WorkerScratch(slice(room, chunks * n, chunks * n + pool.threads() * scratch), 1, scratch);
        pool.runApart(chunks, (worker, chunk) -> addRows(slice(room, chunk * n, (chunk + 1) * n), dys,
            m * chunk / chunks, m * (chunk + 1) / chunks, rows.row(worker, 0)));
        ChunkedRange.run(pool, n, COLUMNS, (from, to) -> {
            for (long column = from; column < to; column++) {
                double sum = dBiases.getAtIndex(ValueLayout.JAVA_FLOAT, column);
                for (int chunk = 0; chunk < chunks; chunk++) {
                    sum += room.getAtIndex(ValueLayout.JAVA_FLOAT, chunk * n + column);
                }
                dBiases.setAtIndex(ValueLayout.JAVA_FLOAT, column, (float) sum);
            }
        });
    }

    @Override
    public void biasGeluBackward(Tensor dx, Tensor y, Tensor dBias, Tensor dy, Tensor x) {
        gelu.backward(dx, y, dy, x);
        biasBackward(dBias, dx);
    }

    /**
     * Computes {@code y = GELU(x)} from x as stored (after rounding), so that the backward pass recomputes the same y.
     */
    private static void activate(FloatView y, FloatView x, long n, Tiling.Tile tile) {
        for (long r = tile.row(); r < tile.row() + tile.height(); r++) {
            long from = r * n + tile.column();
            CpuGelu.forward(y, x, from, from + tile.width());
        }
    }

    /**
     * Sets {@code sum} to the sum of rows {@code from} (inclusive) to {@code to} (exclusive) of {@code x}. Rows have
     * the length of {@code sum}.
     */
    private static void addRows(MemorySegment sum, FloatView x, long from, long to, MemorySegment scratch) {
        sum.fill((byte) 0);
        long n = Lanes.count(sum);
        for (long row = from; row < to; row++) {
            add(sum, x.read(scratch, row * n, (row + 1) * n));
        }
    }

    /** {@code y += x}. */
    static void add(MemorySegment y, MemorySegment x) {
        add(y, x, ArrayCode.add(y, x));
    }

    /** Computes the elements from {@code first} on. */
    static void add(MemorySegment y, MemorySegment x, int first) {
        int n = Lanes.count(y);
        int i = first;
        for (; i <= n - WIDTH; i += WIDTH) {
            store(y, i, load(y, i).add(load(x, i)));
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            store(y, i, load(y, i, rest).add(load(x, i, rest)), rest);
        }
    }
}
