package org.isobar.backend.cpu.generated;

import java.util.HashMap;
import java.util.Map;

import org.isobar.backend.cpu.product.Matmul;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.backend.cpu.product.Packing;

/**
 * A matrix product in single precision, computed panel by panel of the right operand. Sums of more than {@link #TERMS}
 * terms are computed in parts: a panel of so many terms stays in the innermost cache.
 *
 * <p>If the right operand is not packed, a thread packs a panel of one part when it comes to it. Of a transposed left
 * operand, each step takes a few numbers of one stored row. If these rows collide in cache, they are copied.
 */
public final class PanelMatmul implements Matmul {
    private static final int TERMS = 256;
    private static final int UNIT = 8;
    /** Rows that are a multiple of this many floats apart share a few cache sets. */
    private static final int COLLISION = 512;
    /** Floats of a cache line. */
    private static final int LINE = 16;

    private final Key key;
    private final Panel panel;
    private final float factor;
    /** Terms of all parts but the last. */
    private final long terms;
    private final Part[] parts;
    // Parts of one size share their code.
    private final Map<PanelProduct, MachineCode> products = new HashMap<>();
    private final Map<Long, PanelCopies> rightCopies = new HashMap<>();
    private final Map<Long, MachineCode> leftCopies = new HashMap<>();
    /** For operands that are not packed yet: a panel, then a part of the left operand. */
    private final PackingScratch scratch;

    /**
     * The code for a part of the sums.
     *
     * @param whole the product with each panel but the last
     * @param last  the product with the last panel
     * @param right copies the right operand to panels; null if it is packed
     * @param left  copies the left operand; null if it is used as it is
     */
    private record Part(MachineCode whole, MachineCode last, PanelCopies right, MachineCode left) { }

    /** Generates the code. */
    public PanelMatmul(Key key, PackingScratch scratch) {
        this(key, GeneratedCode.set(), 1, scratch);
    }

    /** Generates code that multiplies the product by {@code factor}. */
    PanelMatmul(Key key, InstructionSet set, float factor, PackingScratch scratch) {
        this.key = key;
        panel = Panel.of(set, key.right().n());
        this.factor = factor;
        this.scratch = scratch;
        long k = key.right().k();
        parts = new Part[Math.toIntExact(Math.ceilDiv(k, TERMS))];
        terms = Math.ceilDiv(Math.ceilDiv(k, parts.length), UNIT) * UNIT;
        try {
            for (int part = 0; part < parts.length; part++) {
                parts[part] = new Part(products.computeIfAbsent(product(part, 0), PanelProduct::compile),
                    products.computeIfAbsent(product(part, panels() - 1), PanelProduct::compile),
                    key.form() == Form.PLAIN ? rightCopies.computeIfAbsent(terms(part), this::rightCopies) : null,
                    copiesLeft() ? leftCopies.computeIfAbsent(terms(part), this::leftCopy) : null);
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
        return terms * panel.bytes();
    }

    private long panels() {
        return panel.count(key.right().n());
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

    private PanelCopies rightCopies(long terms) {
        return new PanelCopies(panel, key.right(), terms);
    }

    private MachineCode leftCopy(long terms) {
        return new PanelCopy(copiedStride(), Math.toIntExact(key.m()), Math.toIntExact(terms),
            key.aStride() * Float.BYTES, false).compile();
    }

    private PanelProduct product(long part, long number) {
        long stride = (copiesLeft() ? copiedStride() : key.aStride()) * Float.BYTES;
        return new PanelProduct(Math.toIntExact(key.m()), panel.columns(key.right().n(), number), (int) terms(part),
            panel, key.aTransposed() ? Float.BYTES : stride, key.aTransposed() ? stride : Float.BYTES,
            key.cStride() * Float.BYTES, factor, part == parts.length - 1 && key.finish() == Finish.ADD_BIAS,
            part > 0 || key.finish() == Finish.ADD);
    }

    @Override
    public void run(int worker, Matrix c, Matrix a, long right, long bias) {
        assert key.fits(c, a) : c + ", " + a + ", " + key;
        assert bias != NO_BIAS || key.finish() != Finish.ADD_BIAS : key;
        for (int part = 0; part < parts.length; part++) {
            run(parts[part], part * terms, worker, c, a, right, bias);
        }
    }

    /** Computes the part of the sums that begins with term {@code first}. */
    private void run(Part part, long first, int worker, Matrix c, Matrix a, long right, long bias) {
        long left = a.at(0, first).address();
        if (part.left != null) {
            long copy = scratch.address(worker) + panelBytes();
            part.left.run(left, copy, 0, 0);
            left = copy;
        }
        Packing.Key operand = key.right();
        Matrix rows = new Matrix(operand.dtype(), right, operand.stride(), operand.transposed()).at(first, 0);
        for (long number = 0; number < panels(); number++) {
            long packed;
            if (part.right == null) {
                packed = right + (number * operand.k() + first) * panel.bytes();
            } else {
                packed = scratch.address(worker);
                part.right.run(packed, rows, number);
            }
            (number == panels() - 1 ? part.last : part.whole).run(left, packed,
                c.at(0, number * panel.columns()).address(), bias + number * panel.bytes());
        }
    }

    @Override
    public void close() {
        products.values().forEach(MachineCode::close);
        rightCopies.values().forEach(PanelCopies::close);
        leftCopies.values().forEach(MachineCode::close);
    }
}
