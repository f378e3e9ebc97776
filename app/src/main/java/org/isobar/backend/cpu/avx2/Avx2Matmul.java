package org.isobar.backend.cpu.avx2;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;

import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.product.Matmul;
import org.isobar.backend.cpu.product.Matrix;

/**
 * A matrix product in single precision, computed panel by panel of the right operand. Sums of more than {@link #TERMS}
 * terms are computed in parts: so much of a panel stays in the innermost cache.
 *
 * <p>If the right operand is not packed, a thread packs a panel of one part when it comes to it. A transposed left
 * operand is then copied, so that its rows, of which each step takes a few numbers, are close to each other.
 */
public final class Avx2Matmul implements Matmul {
    private static final int TERMS = 256;
    private static final int UNIT = 8;

    private final Key key;
    private final long parts;
    /** Terms of all parts but the last. */
    private final long terms;
    /** All code; parts of one size share theirs. */
    private final Map<PanelProduct, MachineCode> compiled = new HashMap<>();
    private final Map<Long, PanelCopies> copies = new HashMap<>();
    /** For each part, the products with its first panel and its last one. */
    private final MachineCode[][] products;
    private final Arena arena = Arena.ofShared();
    private final Scratch[] scratch;

    /** Memory of a worker for operands that are not packed yet: a panel, and a part of the left operand. */
    private record Scratch(MemorySegment panel, MemorySegment left) { }

    /** Generates the code. */
    public Avx2Matmul(Key key, int workers) {
        this.key = key;
        long k = key.right().k();
        parts = Math.ceilDiv(k, TERMS);
        terms = Math.ceilDiv(Math.ceilDiv(k, parts), UNIT) * UNIT;
        products = new MachineCode[Math.toIntExact(parts)][2];
        scratch = new Scratch[key.form() == Form.PLAIN ? workers : 0];
        try {
            for (int part = 0; part < parts; part++) {
                products[part][0] = compiled.computeIfAbsent(product(part, 0), PanelProduct::compile);
                products[part][1] = compiled.computeIfAbsent(product(part, panels() - 1), PanelProduct::compile);
                if (key.form() == Form.PLAIN) {
                    copies.computeIfAbsent(terms(part), rows -> new PanelCopies(key.right(), rows));
                }
            }
            for (int worker = 0; worker < scratch.length; worker++) {
                scratch[worker] = new Scratch(floats(terms * PanelProduct.COLUMNS),
                    floats(key.aTransposed() ? terms * key.m() : 0));
            }
        } catch (RuntimeException | Error failure) {
            close();
            throw failure;
        }
    }

    private MemorySegment floats(long count) {
        return arena.allocate(count * Float.BYTES, CpuWorkspace.CACHE_LINE);
    }

    private long panels() {
        return PanelCopies.panels(key.right().n());
    }

    private long terms(long part) {
        return Math.min(terms, key.right().k() - part * terms);
    }

    private boolean copiesLeft() {
        return key.form() == Form.PLAIN && key.aTransposed();
    }

    private PanelProduct product(long part, long panel) {
        long stride = (copiesLeft() ? key.m() : key.aStride()) * Float.BYTES;
        return new PanelProduct(Math.toIntExact(key.m()), PanelCopies.columns(key.right().n(), panel),
            (int) terms(part), key.aTransposed() ? Float.BYTES : stride, key.aTransposed() ? stride : Float.BYTES,
            key.cStride() * Float.BYTES, part == parts - 1 && key.finish() == Finish.ADD_BIAS,
            part > 0 || key.finish() == Finish.ADD);
    }

    @Override
    public void run(int worker, Matrix c, Matrix a, long right, long bias) {
        assert key.fits(c, a) : c + ", " + a + ", " + key;
        assert bias != NO_BIAS || key.finish() != Finish.ADD_BIAS : key;
        for (int part = 0; part < parts; part++) {
            Matrix left = a.at(0, part * terms);
            if (copiesLeft()) {
                left = copy(left, terms(part), scratch[worker].left);
            }
            for (long panel = 0; panel < panels(); panel++) {
                products[part][panel == panels() - 1 ? 1 : 0].run(left.address(), panel(worker, right, part, panel),
                    c.at(0, panel * PanelProduct.COLUMNS).address(), bias + panel * PanelProduct.ROW);
            }
        }
    }

    /** Returns the address of a part of a panel. */
    private long panel(int worker, long right, long part, long panel) {
        if (key.form() == Form.PACKED) {
            return right + (panel * key.right().k() + part * terms) * PanelProduct.ROW;
        }
        long own = scratch[worker].panel.address();
        Matrix b = new Matrix(key.right().dtype(), right, key.right().stride(), key.right().transposed());
        copies.get(terms(part)).run(own, b.at(part * terms, 0), panel);
        return own;
    }

    /** Copies the stored rows of a transposed operand next to each other. */
    @SuppressWarnings("restricted") // the operand has as many rows of that length as the product was compiled for
    private Matrix copy(Matrix a, long rows, MemorySegment to) {
        long bytes = key.m() * Float.BYTES;
        MemorySegment from = MemorySegment.ofAddress(a.address())
            .reinterpret(((rows - 1) * a.stride() + key.m()) * Float.BYTES);
        for (long row = 0; row < rows; row++) {
            MemorySegment.copy(from, row * a.stride() * Float.BYTES, to, row * bytes, bytes);
        }
        return new Matrix(a.dtype(), to.address(), key.m(), true);
    }

    @Override
    public void close() {
        compiled.values().forEach(MachineCode::close);
        copies.values().forEach(PanelCopies::close);
        arena.close();
    }
}
