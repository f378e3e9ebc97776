package org.isobar.backend.cpu.generated;

import org.isobar.backend.cpu.generated.InstructionEncoder.Operation;
import org.isobar.tensor.DType;

/**
 * Machine code of the product of a matrix and a panel, {@code c = factor a b} or {@code c += factor a b}, each with or
 * without a bias that is added to all rows. The sums of a block of rows stay in registers. Each step takes a row of the
 * panel and one lane of each row of the block: a number in F32, a pair of consecutive terms in BF16. Sums are added up
 * in the order of their terms, starting from zero. At the end they are multiplied by the factor; then the bias is
 * added, then the old result.
 *
 * @param m      rows of a and c
 * @param n      columns of the panel that are used
 * @param steps  steps of a sum
 * @param panel  the panel
 * @param left   the matrix a
 * @param result the matrix c
 */
record PanelProduct(int m, int n, int steps, Panel panel, Left left, Result result) {
    private static final int UNROLLED = 4;
    /** Of sixteen registers, one is the mask of incomplete vectors. */
    private static final int MASK_VECTOR = 15;
    private static final int MASK_NUMBER = 1;

    // The arguments and, in general registers, the places of the loops.
    private static final int A = Assembler.RDI;
    private static final int B = Assembler.RSI;
    private static final int C = Assembler.RDX;
    private static final int BIAS = Assembler.RCX;
    private static final int A_STEP = Assembler.RAX;
    private static final int B_STEP = Assembler.R10;
    private static final int REMAINING_BLOCKS = Assembler.R8;
    private static final int REMAINING_STEPS = Assembler.R9;

    /**
     * The left operand.
     *
     * @param dtype of the operands
     * @param row   bytes from one row to the next
     * @param step  bytes from one step to the next
     */
    record Left(DType dtype, long row, long step) { }

    /**
     * The result.
     *
     * @param dtype    of the result and the bias
     * @param row      bytes from one row to the next
     * @param factor   multiplies the sums
     * @param addsBias whether the bias, of n numbers, is added
     * @param addsOld  whether the old result is added
     */
    record Result(DType dtype, long row, float factor, boolean addsBias, boolean addsOld) { }

    PanelProduct {
        if (m < 1 || n < 1 || n > panel.columns() || steps < 1) {
            throw new IllegalArgumentException(m + " x " + n + " sums of " + steps + " steps");
        }
    }

    /** Generates the function of the addresses of a, the panel, c and the bias. */
    MachineCode compile() {
        Assembler to = new Assembler(panel.set());
        new Code(to, this).make();
        to.ret();
        return new MachineCode(to.bytes());
    }

    /** The instructions. Sums are in the first registers, the others of a step in the last ones. */
    private static final class Code {
        private final Assembler to;
        private final PanelProduct product;
        private final InstructionSet set;
        private final int vectors;
        private final int lastLanes;
        private final int mask;
        private final int left;
        private final int right;

        Code(Assembler to, PanelProduct product) {
            this.to = to;
            this.product = product;
            set = product.panel.set();
            vectors = Math.ceilDiv(product.n, set.lanes);
            lastLanes = product.n - (vectors - 1) * set.lanes;
            mask = to.mask(MASK_VECTOR, MASK_NUMBER);
            left = (set == InstructionSet.AVX2 ? MASK_VECTOR : set.registers) - 1;
            right = left - vectors;
        }

        /** Cuts the rows into blocks that differ by at most one row. */
        void make() {
            if (lastLanes < set.lanes) {
                to.setMask(mask, lastLanes);
            }
            int blocks = Math.ceilDiv(product.m, right / vectors);
            int rows = Math.ceilDiv(product.m, blocks);
            int shorter = blocks * rows - product.m;
            blocks(blocks - shorter, rows);
            if (shorter > 0) {
                blocks(shorter, rows - 1);
            }
        }

        private void blocks(int count, int rows) {
            to.move(REMAINING_BLOCKS, count);
            int loop = to.position();
            to.copy(A_STEP, A);
            to.copy(B_STEP, B);
            for (int sum = 0; sum < rows * vectors; sum++) {
                to.zero(sum);
            }
            if (product.steps >= UNROLLED) {
                to.move(REMAINING_STEPS, product.steps / UNROLLED);
                int step = to.position();
                steps(rows, UNROLLED);
                to.increase(A_STEP, UNROLLED * product.left.step);
                to.increase(B_STEP, (long) UNROLLED * product.panel.bytes());
                to.repeat(REMAINING_STEPS, step);
            }
            steps(rows, product.steps % UNROLLED);
            finish(rows);
            to.increase(A, rows * product.left.row);
            to.increase(C, rows * product.result.row);
            to.repeat(REMAINING_BLOCKS, loop);
        }

        private void steps(int rows, int steps) {
            Operation operation = half(product.left.dtype) ? Operation.ADD_DOT_PRODUCT : Operation.ADD_PRODUCT;
            for (int step = 0; step < steps; step++) {
                for (int vector = 0; vector < vectors; vector++) {
                    to.load(right + vector, B_STEP, (long) step * product.panel.bytes() + vector * set.bytes);
                }
                for (int row = 0; row < rows; row++) {
                    to.broadcast(left, A_STEP, row * product.left.row + step * product.left.step);
                    for (int vector = 0; vector < vectors; vector++) {
                        to.apply(operation, row * vectors + vector, left, right + vector);
                    }
                }
            }
        }

        private void finish(int rows) {
            if (product.result.factor != 1) {
                to.load(left, to.repeated(product.result.factor));
                for (int sum = 0; sum < rows * vectors; sum++) {
                    to.apply(Operation.MULTIPLY, sum, sum, left);
                }
            }
            for (int vector = 0; vector < vectors; vector++) {
                boolean partial = vector == vectors - 1 && lastLanes < set.lanes;
                if (product.result.addsBias) {
                    load(partial, right, BIAS, place(vector));
                }
                for (int row = 0; row < rows; row++) {
                    int sum = row * vectors + vector;
                    long place = row * product.result.row + place(vector);
                    if (product.result.addsBias) {
                        to.apply(Operation.ADD, sum, sum, right);
                    }
                    if (product.result.addsOld) {
                        load(partial, left, C, place);
                        to.apply(Operation.ADD, sum, sum, left);
                    }
                    store(partial, place, sum);
                }
            }
        }

        private static boolean half(DType dtype) {
            return dtype == DType.BF16;
        }

        /** Bytes from the start of a row of the result to a vector. */
        private long place(int vector) {
            return (long) vector * set.lanes * product.result.dtype.bytes();
        }

        private void store(boolean partial, long place, int register) {
            if (half(product.result.dtype)) {
                to.storeHalves(C, place, partial ? mask : 0, register);
            } else if (partial) {
                to.store(C, place, mask, register);
            } else {
                to.store(C, place, register);
            }
        }

        private void load(boolean partial, int register, int base, long displacement) {
            if (half(product.result.dtype)) {
                to.loadHalves(register, partial ? mask : 0, base, displacement);
            } else if (partial) {
                to.load(register, mask, base, displacement);
            } else {
                to.load(register, base, displacement);
            }
        }
    }
}
