package org.isobar.backend.cpu.avx2;

import java.util.HashMap;
import java.util.Map;

import org.isobar.backend.cpu.product.Matmul;
import org.isobar.backend.cpu.product.Matrix;

/**
 * A matrix product in single precision, computed panel by panel of the right operand. Sums of more than {@link #TERMS}
 * terms are computed in parts: a panel of so many terms stays in the innermost cache.
 *
 * <p>If the right operand is not packed, a thread packs a panel of one part when it comes to it. Of a transposed left
 * operand, each step takes a few numbers of one stored row. If these rows collide in cache, they are copied.
 */
public final class Avx2Matmul implements Matmul {
    private static final int TERMS = 256;
    private static final int UNIT = Assembler.LANES;
    /** Rows that are a multiple of this many floats apart share a few cache sets. */
    private static final int COLLISION = 512;
    /** Floats of a cache line. */
    private static final int LINE = 16;

    private final Key key;
    private final float factor;
    private final long parts;
    /** Terms of all parts but the last. */
    private final long terms;
    /** All code; parts of one size share theirs. */
    private final Map<PanelProduct, MachineCode> compiled = new HashMap<>();
    private final Map<Long, PanelCopies> copies = new HashMap<>();
    /** Copies of parts of the left operand, by their terms. */
    private final Map<Long, MachineCode> leftCopies = new HashMap<>();
    /** For each part, the products with its first panel and its last one. */
    private final MachineCode[][] products;
    /** For operands that are not packed yet: a panel, then a part of the left operand. */
    private final PackingScratch scratch;

    /** Generates the code. */
    public Avx2Matmul(Key key, PackingScratch scratch) {
        this(key, 1, scratch);
    }

    /** Generates code that multiplies the product by {@code factor}. */
    Avx2Matmul(Key key, float factor, PackingScratch scratch) {
        this.key = key;
        this.factor = factor;
        this.scratch = scratch;
        long k = key.right().k();
        parts = Math.ceilDiv(k, TERMS);
        terms = Math.ceilDiv(Math.ceilDiv(k, parts), UNIT) * UNIT;
        products = new MachineCode[Math.toIntExact(parts)][2];
        try {
            for (int part = 0; part < parts; part++) {
                products[part][0] = compiled.computeIfAbsent(product(part, 0), PanelProduct::compile);
                products[part][1] = compiled.computeIfAbsent(product(part, panels() - 1), PanelProduct::compile);
                if (key.form() == Form.PLAIN) {
                    copies.computeIfAbsent(terms(part), rows -> new PanelCopies(key.right(), rows));
                }
                if (copiesLeft()) {
                    leftCopies.computeIfAbsent(terms(part), this::leftCopy);
                }
            }
            if (key.form() == Form.PLAIN) {
                scratch.reserve(panelBytes() + (copiesLeft() ? terms * copiedStride() * Float.BYTES : 0));
            }
        } catch (RuntimeException | Error failure) {
            close();
            throw failure;
        }
    }

    private long panelBytes() {
        return terms * PanelProduct.ROW;
    }

    private long panels() {
        return PanelCopies.panels(key.right().n());
    }

    private long terms(long part) {
        return Math.min(terms, key.right().k() - part * terms);
    }

    private boolean copiesLeft() {
        return key.form() == Form.PLAIN && key.aTransposed() && key.aStride() % COLLISION == 0;
    }

    /** An odd number of cache lines, so that copied rows spread over all cache sets. */
    private int copiedStride() {
        return Math.toIntExact((Math.ceilDiv(key.m(), LINE) | 1) * LINE);
    }

    private MachineCode leftCopy(long terms) {
        return new PanelCopy(copiedStride(), Math.toIntExact(key.m()), Math.toIntExact(terms),
            key.aStride() * Float.BYTES, false).compile();
    }

    private PanelProduct product(long part, long panel) {
        long stride = (copiesLeft() ? copiedStride() : key.aStride()) * Float.BYTES;
        return new PanelProduct(Math.toIntExact(key.m()), PanelCopies.columns(key.right().n(), panel),
            (int) terms(part), key.aTransposed() ? Float.BYTES : stride, key.aTransposed() ? stride : Float.BYTES,
            key.cStride() * Float.BYTES, factor, part == parts - 1 && key.finish() == Finish.ADD_BIAS,
            part > 0 || key.finish() == Finish.ADD);
    }

    @Override
    public void run(int worker, Matrix c, Matrix a, long right, long bias) {
        assert key.fits(c, a) : c + ", " + a + ", " + key;
        assert bias != NO_BIAS || key.finish() != Finish.ADD_BIAS : key;
        for (int part = 0; part < parts; part++) {
            long left = a.at(0, part * terms).address();
            if (copiesLeft()) {
                long copy = scratch.address(worker) + panelBytes();
                leftCopies.get(terms(part)).run(left, copy, 0, 0);
                left = copy;
            }
            for (long panel = 0; panel < panels(); panel++) {
                products[part][panel == panels() - 1 ? 1 : 0].run(left, panel(worker, right, part, panel),
                    c.at(0, panel * PanelProduct.COLUMNS).address(), bias + panel * PanelProduct.ROW);
            }
        }
    }

    /** Returns the address of a part of a panel. */
    private long panel(int worker, long right, long part, long panel) {
        if (key.form() == Form.PACKED) {
            return right + (panel * key.right().k() + part * terms) * PanelProduct.ROW;
        }
        long own = scratch.address(worker);
        Matrix b = new Matrix(key.right().dtype(), right, key.right().stride(), key.right().transposed());
        copies.get(terms(part)).run(own, b.at(part * terms, 0), panel);
        return own;
    }

    @Override
    public void close() {
        compiled.values().forEach(MachineCode::close);
        copies.values().forEach(PanelCopies::close);
        leftCopies.values().forEach(MachineCode::close);
    }
}
