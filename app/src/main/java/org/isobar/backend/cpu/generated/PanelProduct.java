package org.isobar.backend.cpu.generated;

import org.isobar.backend.cpu.generated.InstructionEncoder.Operation;

/**
 * Machine code of the product of a matrix and a panel, {@code c = factor a b} or {@code c += factor a b}, each with or
 * without a bias that is added to all rows. Six rows times two vectors of sums stay in registers: each step takes two
 * vectors of the panel and one number of each row, and issues twelve multiply-adds. Sums are added up in the order of
 * their terms, starting from zero. At the end they are multiplied by the factor; then the bias is added, then the old
 * result.
 *
 * @param m        rows of a and c
 * @param n        columns of the panel, at most {@link #COLUMNS}
 * @param k        terms of a sum
 * @param aRow     bytes from one row of a to the next
 * @param aColumn  bytes from one column of a to the next
 * @param cRow     bytes from one row of c to the next
 * @param factor   multiplies the sums
 * @param addsBias whether the bias, of n numbers, is added
 * @param addsOld  whether the old c is added
 */
record PanelProduct(int m, int n, int k, long aRow, long aColumn, long cRow, float factor, boolean addsBias,
    boolean addsOld) {
    /** Columns of a panel, which is stored row by row, its last columns being zero where it has fewer. */
    static final int COLUMNS = 16;
    /** Bytes of a row of a panel. */
    static final int ROW = COLUMNS * Float.BYTES;

    /** Rows whose sums are in registers at a time. */
    private static final int ROWS = 6;
    private static final int LANES = InstructionSet.AVX2.lanes;
    private static final int VECTOR = InstructionSet.AVX2.bytes;
    private static final int UNROLLED = 4;

    // Registers 0 to 11 have sums.
    private static final int RIGHT = 12;
    private static final int LEFT = 14;
    private static final int MASK = 15;
    // The arguments and, in general registers, the places of the loops.
    private static final int A = Assembler.RDI;
    private static final int B = Assembler.RSI;
    private static final int C = Assembler.RDX;
    private static final int BIAS = Assembler.RCX;
    private static final int A_TERM = Assembler.RAX;
    private static final int B_TERM = Assembler.R10;
    private static final int REMAINING_ROWS = Assembler.R8;
    private static final int REMAINING_TERMS = Assembler.R9;

    PanelProduct {
        if (m < 1 || n < 1 || n > COLUMNS || k < 1) {
            throw new IllegalArgumentException(m + " x " + n + " sums of " + k + " terms");
        }
    }

    private int vectors() {
        return Math.ceilDiv(n, LANES);
    }

    private int lastLanes() {
        return n - (vectors() - 1) * LANES;
    }

    /** Generates the function of the addresses of a, the panel, c and the bias. */
    MachineCode compile() {
        Assembler to = new Assembler(InstructionSet.AVX2);
        if (lastLanes() < LANES) {
            to.setMask(MASK, lastLanes());
        }
        if (m >= ROWS) {
            to.move(REMAINING_ROWS, m / ROWS);
            int loop = to.position();
            rows(to, ROWS);
            to.increase(A, ROWS * aRow);
            to.increase(C, ROWS * cRow);
            to.repeat(REMAINING_ROWS, loop);
        }
        if (m % ROWS > 0) {
            rows(to, m % ROWS);
        }
        to.ret();
        return new MachineCode(to.bytes());
    }

    private void rows(Assembler to, int rows) {
        to.copy(A_TERM, A);
        to.copy(B_TERM, B);
        for (int sum = 0; sum < rows * vectors(); sum++) {
            to.zero(sum);
        }
        if (k >= UNROLLED) {
            to.move(REMAINING_TERMS, k / UNROLLED);
            int loop = to.position();
            terms(to, rows, UNROLLED);
            to.increase(A_TERM, UNROLLED * aColumn);
            to.increase(B_TERM, (long) UNROLLED * ROW);
            to.repeat(REMAINING_TERMS, loop);
        }
        terms(to, rows, k % UNROLLED);
        finish(to, rows);
    }

    private void terms(Assembler to, int rows, int terms) {
        for (int term = 0; term < terms; term++) {
            for (int vector = 0; vector < vectors(); vector++) {
                to.load(RIGHT + vector, B_TERM, (long) term * ROW + vector * VECTOR);
            }
            for (int row = 0; row < rows; row++) {
                to.broadcast(LEFT, A_TERM, row * aRow + term * aColumn);
                for (int vector = 0; vector < vectors(); vector++) {
                    to.apply(Operation.ADD_PRODUCT, row * vectors() + vector, LEFT, RIGHT + vector);
                }
            }
        }
    }

    private void finish(Assembler to, int rows) {
        if (factor != 1) {
            to.load(LEFT, to.repeated(factor));
            for (int sum = 0; sum < rows * vectors(); sum++) {
                to.apply(Operation.MULTIPLY, sum, sum, LEFT);
            }
        }
        for (int vector = 0; vector < vectors(); vector++) {
            boolean partial = vector == vectors() - 1 && lastLanes() < LANES;
            if (addsBias) {
                load(to, partial, RIGHT, BIAS, vector * VECTOR);
            }
            for (int row = 0; row < rows; row++) {
                int sum = row * vectors() + vector;
                long place = row * cRow + vector * VECTOR;
                if (addsBias) {
                    to.apply(Operation.ADD, sum, sum, RIGHT);
                }
                if (addsOld) {
                    load(to, partial, LEFT, C, place);
                    to.apply(Operation.ADD, sum, sum, LEFT);
                }
                if (partial) {
                    to.store(C, place, MASK, sum);
                } else {
                    to.store(C, place, sum);
                }
            }
        }
    }

    private static void load(Assembler to, boolean partial, int register, int base, long displacement) {
        if (partial) {
            to.load(register, MASK, base, displacement);
        } else {
            to.load(register, base, displacement);
        }
    }
}
