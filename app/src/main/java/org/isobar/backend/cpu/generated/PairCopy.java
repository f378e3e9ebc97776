package org.isobar.backend.cpu.generated;

import org.isobar.backend.cpu.generated.InstructionEncoder.Operation;

/**
 * Machine code that copies columns of a BF16 matrix to a panel. A row of the panel has two rows of the matrix: of each
 * column a pair, the number of the first row in the lower half. For vectors of 512 bits.
 *
 * @param width  columns of the panel: a multiple of sixteen
 * @param n      columns to copy; the panel's other columns become zero
 * @param pairs  rows of the panel
 * @param stride bytes from one row of the matrix to the next
 */
record PairCopy(int width, int n, int pairs, long stride) {
    private static final InstructionSet SET = InstructionSet.AVX512;
    private static final int MASK = 1;
    private static final int LOWER = 0;
    private static final int UPPER = 1;
    private static final int FROM = Assembler.RDI;
    private static final int TO = Assembler.RSI;
    private static final int REMAINING = Assembler.R8;

    /** Generates the function of the addresses of the matrix and the panel. */
    MachineCode compile() {
        Assembler to = new Assembler(SET);
        to.setMask(MASK, n % SET.lanes);
        to.move(REMAINING, pairs);
        int loop = to.position();
        for (int vector = 0; vector < width / SET.lanes; vector++) {
            copy(to, vector);
        }
        to.increase(FROM, 2 * stride);
        to.increase(TO, (long) width * Float.BYTES);
        to.repeat(REMAINING, loop);
        to.ret();
        return new MachineCode(to.bytes());
    }

    private void copy(Assembler to, int vector) {
        int columns = n - vector * SET.lanes;
        if (columns > 0) {
            int mask = columns < SET.lanes ? MASK : 0;
            long first = (long) vector * SET.lanes * Short.BYTES;
            to.loadIntegers(LOWER, mask, FROM, first);
            to.loadHalves(UPPER, mask, FROM, stride + first);
            to.apply(Operation.OR, LOWER, LOWER, UPPER);
        } else {
            to.zero(LOWER);
        }
        to.store(TO, vector * SET.bytes, LOWER);
    }
}
