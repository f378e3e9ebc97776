package org.isobar.backend.cpu.avx2;

import org.isobar.backend.cpu.avx2.Assembler.Constant;
import org.isobar.backend.cpu.avx2.Assembler.Operation;

/**
 * Machine code that copies columns of a matrix to a panel for {@link PanelProduct}, which has the columns side by side.
 *
 * @param n          columns, at most {@link PanelProduct#COLUMNS}; the panel's other columns become zero
 * @param k          rows
 * @param stride     bytes from one stored row of the matrix to the next
 * @param transposed whether the stored rows are its columns
 */
record PanelCopy(int n, int k, long stride, boolean transposed) {
    private static final int LANES = Assembler.LANES;
    private static final int VECTOR = Assembler.VECTOR;
    private static final int HALVES = PanelProduct.COLUMNS / LANES;
    private static final int MASK = 15;
    private static final int FROM = Assembler.RDI;
    private static final int TO = Assembler.RSI;
    private static final int REMAINING = Assembler.R8;

    /** Generates the function of the addresses of the matrix and the panel. */
    MachineCode compile() {
        Assembler to = new Assembler();
        Constant mask = to.first((transposed ? k : n) % LANES);
        if (transposed) {
            if (k >= LANES) {
                to.move(REMAINING, k / LANES);
                int loop = to.position();
                square(to, LANES, mask);
                to.increase(FROM, VECTOR);
                to.increase(TO, LANES * PanelProduct.ROW);
                to.repeat(REMAINING, loop);
            }
            if (k % LANES > 0) {
                square(to, k % LANES, mask);
            }
        } else {
            to.load(MASK, mask);
            to.move(REMAINING, k);
            int loop = to.position();
            row(to);
            to.increase(FROM, stride);
            to.increase(TO, PanelProduct.ROW);
            to.repeat(REMAINING, loop);
        }
        to.ret();
        return new MachineCode(to.bytes());
    }

    private void row(Assembler to) {
        for (int half = 0; half < HALVES; half++) {
            int columns = n - half * LANES;
            if (columns >= LANES) {
                to.load(half, FROM, half * VECTOR);
            } else if (columns > 0) {
                to.load(half, MASK, FROM, half * VECTOR);
            } else {
                to.zero(half);
            }
            to.store(TO, half * VECTOR, half);
        }
    }

    /** Transposes squares of up to eight rows of the panel, one for each half of its columns. */
    private void square(Assembler to, int rows, Constant mask) {
        for (int half = 0; half < HALVES; half++) {
            int upper = LANES; // registers 8 to 15
            if (rows < LANES) {
                to.load(upper, mask);
            }
            for (int i = 0; i < LANES; i++) {
                int column = half * LANES + i;
                if (column >= n) {
                    to.zero(i);
                } else if (rows < LANES) {
                    to.load(i, upper, FROM, column * stride);
                } else {
                    to.load(i, FROM, column * stride);
                }
            }
            for (int i = 0; i < LANES; i += 2) {
                to.apply(Operation.UNPACK_LOW, upper + i, i, i + 1);
                to.apply(Operation.UNPACK_HIGH, upper + i + 1, i, i + 1);
            }
            for (int i = 0; i < LANES; i += LANES / 2) {
                for (int j = 0; j < 2; j++) {
                    to.shuffle(i + 2 * j, upper + i + j, upper + i + j + 2, 0x44);
                    to.shuffle(i + 2 * j + 1, upper + i + j, upper + i + j + 2, 0xEE);
                }
            }
            for (int row = 0; row < rows; row++) {
                to.permuteHalves(upper + row, row % 4, row % 4 + 4, row < 4 ? 0x20 : 0x31);
                to.store(TO, row * PanelProduct.ROW + half * VECTOR, upper + row);
            }
        }
    }
}
