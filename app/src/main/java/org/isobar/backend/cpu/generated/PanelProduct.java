package org.isobar.backend.cpu.generated;

import org.isobar.backend.cpu.generated.InstructionEncoder.Operation;

/**
 * Machine code of the product of a matrix and a panel, {@code c = factor a b} or {@code c += factor a b}, each with or
 * without a bias that is added to all rows. The sums of a block of rows stay in registers. Each step takes a row of the
 * panel and one number of each row of the block. Sums are added up in the order of their terms, starting from zero. At
 * the end they are multiplied by the factor; then the bias is added, then the old result.
 *
 * @param m        rows of a and c
 * @param n        columns of the panel that are used
 * @param k        terms of a sum
 * @param panel    the panel
 * @param aRow     bytes from one row of a to the next
 * @param aColumn  bytes from one column of a to the next
 * @param cRow     bytes from one row of c to the next
 * @param factor   multiplies the sums
 * @param addsBias whether the bias, of n numbers, is added
 * @param addsOld  whether the old c is added
 */
record PanelProduct(int m, int n, int k, Panel panel, long aRow, long aColumn, long cRow, float factor,
    boolean addsBias, boolean addsOld) {
    private static final int UNROLLED = 4;
    /** Of sixteen registers, one is the mask of incomplete vectors. */
    private static final int MASK_VECTOR = 15;
    private static final int MASK_NUMBER = 1;

    // The arguments and, in general registers, the places of the loops.
    private static final int A = Assembler.RDI;
    private static final int B = Assembler.RSI;
    private static final int C = Assembler.RDX;
    private static final int BIAS = Assembler.RCX;
    private static final int A_TERM = Assembler.RAX;
    private static final int B_TERM = Assembler.R10;
    private static final int REMAINING_BLOCKS = Assembler.R8;
    private static final int REMAINING_TERMS = Assembler.R9;

    PanelProduct {
        if (m < 1 || n < 1 || n > panel.columns() || k < 1) {
            throw new IllegalArgumentException(m + " x " + n + " sums of " + k + " terms");
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
            to.copy(A_TERM, A);
            to.copy(B_TERM, B);
            for (int sum = 0; sum < rows * vectors; sum++) {
                to.zero(sum);
            }
            if (product.k >= UNROLLED) {
                to.move(REMAINING_TERMS, product.k / UNROLLED);
                int terms = to.position();
                terms(rows, UNROLLED);
                to.increase(A_TERM, UNROLLED * product.aColumn);
                to.increase(B_TERM, (long) UNROLLED * product.panel.bytes());
                to.repeat(REMAINING_TERMS, terms);
            }
            terms(rows, product.k % UNROLLED);
            finish(rows);
            to.increase(A, rows * product.aRow);
            to.increase(C, rows * product.cRow);
            to.repeat(REMAINING_BLOCKS, loop);
        }

        private void terms(int rows, int terms) {
            for (int term = 0; term < terms; term++) {
                for (int vector = 0; vector < vectors; vector++) {
                    to.load(right + vector, B_TERM, (long) term * product.panel.bytes() + vector * set.bytes);
                }
                for (int row = 0; row < rows; row++) {
                    to.broadcast(left, A_TERM, row * product.aRow + term * product.aColumn);
                    for (int vector = 0; vector < vectors; vector++) {
                        to.apply(Operation.ADD_PRODUCT, row * vectors + vector, left, right + vector);
                    }
                }
            }
        }

        private void finish(int rows) {
            if (product.factor != 1) {
                to.load(left, to.repeated(product.factor));
                for (int sum = 0; sum < rows * vectors; sum++) {
                    to.apply(Operation.MULTIPLY, sum, sum, left);
                }
            }
            for (int vector = 0; vector < vectors; vector++) {
                boolean partial = vector == vectors - 1 && lastLanes < set.lanes;
                if (product.addsBias) {
                    load(partial, right, BIAS, vector * set.bytes);
                }
                for (int row = 0; row < rows; row++) {
                    int sum = row * vectors + vector;
                    long place = row * product.cRow + vector * set.bytes;
                    if (product.addsBias) {
                        to.apply(Operation.ADD, sum, sum, right);
                    }
                    if (product.addsOld) {
                        load(partial, left, C, place);
                        to.apply(Operation.ADD, sum, sum, left);
                    }
                    if (partial) {
                        to.store(C, place, mask, sum);
                    } else {
                        to.store(C, place, sum);
                    }
                }
            }
        }

        private void load(boolean partial, int register, int base, long displacement) {
            if (partial) {
                to.load(register, mask, base, displacement);
            } else {
                to.load(register, base, displacement);
            }
        }
    }
}
