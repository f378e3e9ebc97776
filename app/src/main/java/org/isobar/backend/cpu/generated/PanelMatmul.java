package org.isobar.backend.cpu.generated;

import java.util.HashMap;
import java.util.Map;

import org.isobar.backend.cpu.product.Matmul;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.backend.cpu.product.Packing;
import org.isobar.tensor.DType;

/**
 * A matrix product in F32 or BF16, computed panel by panel of the right operand. Sums of more than {@link #STEPS} steps
 * are computed in parts, if the result is F32: a panel of so many steps stays in the innermost cache. In BF16 a step
 * has two terms of each sum, whose number is even.
 *
 * <p>If the right operand is not packed, a thread packs a panel of one part when it comes to it. Of a transposed left
 * operand, each step takes a few numbers of one stored row. If these rows collide in cache, they are copied; in BF16
 * they always are, because a step needs two of them.
 */
public final class PanelMatmul implements Matmul {
    private static final int STEPS = 256;
    private static final int UNIT = 8;
    /** Rows that are a multiple of this many floats apart share a few cache sets. */
    private static final int COLLISION = 512;
    /**
     * Rows that are a multiple of this many floats apart share one set of the L1 cache. A set holds 8 or 12 lines; a
     * block of sums has 9 or 14 rows with AVX-512, which mostly do not fit, and six with AVX2, which do.
     */
    private static final int PAGE = 1024;
    /** Floats of a cache line. */
    private static final int LINE = 16;

    private final Key key;
    private final Panel panel;
    private final float factor;
    /** Steps of all parts but the last. */
    private final long steps;
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
        parts = new Part[key.right().result() == DType.BF16 ? 1 : Math.toIntExact(Math.ceilDiv(allSteps(), STEPS))];
        steps = Math.ceilDiv(Math.ceilDiv(allSteps(), parts.length), UNIT) * UNIT;
        try {
            for (int part = 0; part < parts.length; part++) {
                parts[part] = new Part(products.computeIfAbsent(product(part, 0), PanelProduct::compile),
                    products.computeIfAbsent(product(part, panels() - 1), PanelProduct::compile),
                    key.form() == Form.PLAIN ? rightCopies.computeIfAbsent(steps(part), this::rightCopies) : null,
                    copiesLeft() ? leftCopies.computeIfAbsent(steps(part), this::leftCopy) : null);
            }
            scratch.reserve(panelBytes() + (copiesLeft() ? copiedRows(steps) * copiedStride() * Float.BYTES : 0));
        } catch (RuntimeException | Error failure) {
            close();
            throw failure;
        }
    }

    private long allSteps() {
        return Panel.steps(key.right().dtype(), key.right().k());
    }

    private long panelBytes() {
        return key.form() == Form.PLAIN ? steps * panel.bytes() : 0;
    }

    private long panels() {
        return panel.count(key.right().n());
    }

    private long steps(long part) {
        return Math.min(steps, allSteps() - part * steps);
    }

    private boolean copiesLeft() {
        if (!key.aTransposed()) {
            return panel.set() == InstructionSet.AVX512 && key.right().dtype() == DType.F32
                && key.aStride() % PAGE == 0;
        }
        return key.right().dtype() == DType.BF16 || key.form() == Form.PLAIN && key.aStride() % COLLISION == 0;
    }

    /** An odd number of cache lines, so that copied rows spread over all cache sets. */
    private int copiedStride() {
        return Math.toIntExact((Math.ceilDiv(copiedColumns(steps), LINE) | 1) * LINE);
    }

    private long copiedRows(long steps) {
        return key.aTransposed() ? steps : key.m();
    }

    private long copiedColumns(long steps) {
        return key.aTransposed() ? key.m() : steps;
    }

    private PanelCopies rightCopies(long steps) {
        return new PanelCopies(panel, key.right(), steps);
    }

    private MachineCode leftCopy(long steps) {
        return PanelCopies.copy(key.right().dtype(), copiedStride(), Math.toIntExact(copiedColumns(steps)),
            copiedRows(steps), key.aStride(), false);
    }

    private PanelProduct product(long part, long number) {
        DType result = key.right().result();
        return new PanelProduct(Math.toIntExact(key.m()), panel.columns(key.right().n(), number), (int) steps(part),
            panel, left(), new PanelProduct.Result(result, key.cStride() * result.bytes(), factor,
                part == parts.length - 1 && key.finish() == Finish.ADD_BIAS, part > 0 || key.finish() == Finish.ADD));
    }

    private PanelProduct.Left left() {
        DType dtype = key.right().dtype();
        long stride = copiesLeft() ? (long) copiedStride() * Float.BYTES : key.aStride() * dtype.bytes();
        return key.aTransposed() ? new PanelProduct.Left(dtype, Float.BYTES, stride)
            : new PanelProduct.Left(dtype, stride, Float.BYTES);
    }

    @Override
    public void run(int worker, Matrix c, Matrix a, long right, long bias) {
        assert key.fits(c, a) : c + ", " + a + ", " + key;
        assert bias != NO_BIAS || key.finish() != Finish.ADD_BIAS : key;
        for (int part = 0; part < parts.length; part++) {
            run(parts[part], part * steps, worker, c, a, right, bias);
        }
    }

    /** Computes the part of the sums that begins with step {@code first}. */
    private void run(Part part, long first, int worker, Matrix c, Matrix a, long right, long bias) {
        long term = first * Panel.termsPerStep(key.right().dtype());
        long left = a.at(0, term).address();
        if (part.left != null) {
            long copy = scratch.address(worker) + panelBytes();
            part.left.run(left, copy, 0, 0);
            left = copy;
        }
        Packing.Key operand = key.right();
        Matrix rows = new Matrix(operand.dtype(), right, operand.stride(), operand.transposed()).at(term, 0);
        for (long number = 0; number < panels(); number++) {
            long packed;
            if (part.right == null) {
                packed = right + (number * allSteps() + first) * panel.bytes();
            } else {
                packed = scratch.address(worker);
                part.right.run(packed, rows, number);
            }
            long column = number * panel.columns();
            (number == panels() - 1 ? part.last : part.whole).run(left, packed, c.at(0, column).address(),
                bias + column * operand.result().bytes());
        }
    }

    @Override
    public void close() {
        products.values().forEach(MachineCode::close);
        rightCopies.values().forEach(PanelCopies::close);
        leftCopies.values().forEach(MachineCode::close);
    }
}
