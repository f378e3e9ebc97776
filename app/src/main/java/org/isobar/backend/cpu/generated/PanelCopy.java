package org.isobar.backend.cpu.generated;

import org.isobar.backend.cpu.generated.InstructionEncoder.Constant;
import org.isobar.backend.cpu.generated.InstructionEncoder.Operation;

/**
 * Machine code that copies columns of a matrix of elements of 32 bits to a panel, whose rows are next to each other: of
 * floats, or of pairs of consecutive BF16 numbers in a transposed matrix.
 *
 * @param width      columns of the panel: a multiple of eight
 * @param n          columns to copy; the panel's other columns become zero
 * @param k          rows
 * @param stride     bytes from one stored row of the matrix to the next
 * @param transposed whether the stored rows are its columns
 */
record PanelCopy(int width, int n, int k, long stride, boolean transposed) {
    private static final int LANES = InstructionSet.AVX2.lanes;
    private static final int VECTOR = InstructionSet.AVX2.bytes;
    private static final int MASK = 15;
    private static final int FROM = Assembler.RDI;
    private static final int TO = Assembler.RSI;
    private static final int REMAINING = Assembler.R8;

    /** Generates the function of the addresses of the matrix and the panel. */
    MachineCode compile() {
        Assembler to = new Assembler(InstructionSet.AVX2);
        Constant mask = to.first((transposed ? k : n) % LANES);
        if (transposed) {
            if (k >= LANES) {
                to.move(REMAINING, k / LANES);
                int loop = to.position();
                square(to, LANES, mask);
                to.increase(FROM, VECTOR);
                to.increase(TO, (long) LANES * row());
                to.repeat(REMAINING, loop);
            }
            if (k % LANES > 0) {
                square(to, k % LANES, mask);
            }
        } else {
            to.load(MASK, mask);
            to.move(REMAINING, k);
            int loop = to.position();
            copyRow(to);
            to.increase(FROM, stride);
            to.increase(TO, row());
            to.repeat(REMAINING, loop);
        }
        to.ret();
        return new MachineCode(to.bytes());
    }

    private int row() {
        return width * Float.BYTES;
    }

    private void copyRow(Assembler to) {
        for (int vector = 0; vector < width / LANES; vector++) {
            int columns = n - vector * LANES;
            int register = vector % MASK;
            if (columns >= LANES) {
                to.load(register, FROM, vector * VECTOR);
            } else if (columns > 0) {
                to.load(register, MASK, FROM, vector * VECTOR);
            } else {
                to.zero(register);
            }
            to.store(TO, vector * VECTOR, register);
        }
    }

    /** Transposes squares of up to eight rows of the panel. */
    private void square(Assembler to, int rows, Constant mask) {
        for (int vector = 0; vector < width / LANES; vector++) {
            int upper = LANES; // registers 8 to 15
            if (rows < LANES) {
                to.load(upper, mask);
            }
            for (int i = 0; i < LANES; i++) {
                int column = vector * LANES + i;
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
                to.store(TO, row * row() + vector * VECTOR, upper + row);
            }
        }
    }
}
