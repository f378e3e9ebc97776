package org.isobar.backend.cpu.onednn;

import java.util.HashMap;
import java.util.Map;

import org.bytedeco.dnnl.engine;
import org.bytedeco.dnnl.memory;
import org.isobar.backend.cpu.generated.GeneratedCode;
import org.isobar.backend.cpu.generated.PackingScratch;
import org.isobar.backend.cpu.generated.PanelMatmul;
import org.isobar.backend.cpu.generated.PanelPacking;
import org.isobar.backend.cpu.generated.PanelStackedMatmul;
import org.isobar.backend.cpu.product.Matmul;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.backend.cpu.product.MatrixStack;
import org.isobar.backend.cpu.product.Packing;
import org.isobar.backend.cpu.product.StackedMatmul;
import org.isobar.tensor.DType;

/**
 * Cache of the products that have been compiled for one device: by our own code where {@link GeneratedCode} has it,
 * by oneDNN otherwise, which is loaded for its first product. Each is compiled on first request. Only the thread that
 * issues the operations requests products; all workers may run a returned product concurrently.
 */
public final class MatmulCache implements AutoCloseable {
    private final int workers;
    private final Map<Packing.Key, Packing> packings = new HashMap<>();
    private final Map<Matmul.Key, Matmul> matmuls = new HashMap<>();
    private final Map<StackedMatmul.Key, StackedMatmul> stacked = new HashMap<>();
    private final PackingScratch scratch;
    /** What oneDNN's products are compiled for; null before the first. */
    private engine cpu;

    /** Creates a cache for {@code workers} threads. */
    public MatmulCache(int workers) {
        this.workers = workers;
        scratch = new PackingScratch(workers);
    }

    private engine cpu() {
        if (cpu == null) {
            OneDnn.load();
            cpu = new engine(engine.kind.cpu, 0);
        }
        return cpu;
    }

    /**
     * Returns the packing of right operands (k, n) with the layout of {@code b}, for products with about {@code rows}
     * rows.
     *
     * @param result the type of these products
     */
    public Packing packing(Matrix b, long k, long n, long rows, DType result) {
        return packings.computeIfAbsent(
            new Packing.Key(b.dtype(), result, rows, n, k, b.stride(), b.transposed()),
            key -> isGenerated(key) ? new PanelPacking(key) : new OneDnnPacking(key, cpu(), workers));
    }

    private static boolean isGenerated(Packing.Key right) {
        return isGenerated(right.dtype(), right.result(), right.k());
    }

    /** Whether products with sums of k terms are computed by our own code. */
    private static boolean isGenerated(DType operands, DType result, long k) {
        return GeneratedCode.hasProducts(operands)
            && (operands == DType.F32 ? result == DType.F32 : k % 2 == 0);
    }

    /** Returns the product of m rows, for operands with the layouts of {@code a} and {@code c}. */
    public Matmul matmul(Packing packing, long m, Matrix a, Matrix c, Matmul.Finish finish) {
        assert a.dtype() == packing.key().dtype() && c.dtype() == packing.key().result() : a + ", " + c;
        assert !c.transposed();
        return matmuls.computeIfAbsent(new Matmul.Key(packing.key(), Matmul.Form.PACKED, m, a.stride(), a.transposed(),
            c.stride(), finish), key -> packing instanceof OneDnnPacking layout
                ? new OneDnnMatmul(key, layout.description(), cpu(), workers) : new PanelMatmul(key, scratch));
    }

    /**
     * Returns the product (m, n) with sums of k terms, for unpacked operands with the layouts of {@code a}, {@code b}
     * and {@code c}.
     */
    public Matmul plain(long m, long n, long k, Matrix a, Matrix b, Matrix c, Matmul.Finish finish) {
        Packing.Key right = new Packing.Key(b.dtype(), c.dtype(), m, n, k, b.stride(), b.transposed());
        return matmuls.computeIfAbsent(
            new Matmul.Key(right, Matmul.Form.PLAIN, m, a.stride(), a.transposed(), c.stride(), finish), key -> {
                if (isGenerated(right)) {
                    return new PanelMatmul(key, scratch);
                }
                engine target = cpu();
                try (memory.desc layout = OneDnn.plain(b.dtype(), k, n, b.stride(), b.transposed())) {
                    return new OneDnnMatmul(key, layout, target, workers);
                }
            });
    }

    /** Returns the products {@code c = factor a b} of stacks with the layouts of {@code a}, {@code b} and {@code c}. */
    public StackedMatmul stacked(StackedMatmul.Extents extents, MatrixStack a, MatrixStack b, MatrixStack c,
        float factor) {
        assert !c.first().transposed();
        return stacked.computeIfAbsent(new StackedMatmul.Key(extents, StackedMatmul.Layout.of(a),
            StackedMatmul.Layout.of(b), StackedMatmul.Layout.of(c), factor),
            key -> isGenerated(a.first().dtype(), c.first().dtype(), extents.k())
                ? new PanelStackedMatmul(key, scratch)
                : new OneDnnStackedMatmul(key, cpu(), workers));
    }

    /** Frees all compiled products and packings. */
    @Override
    public void close() {
        scratch.close();
        stacked.values().forEach(StackedMatmul::close);
        matmuls.values().forEach(Matmul::close);
        packings.values().forEach(Packing::close);
        if (cpu != null) {
            cpu.close();
        }
    }
}
