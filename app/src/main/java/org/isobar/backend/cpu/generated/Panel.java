package org.isobar.backend.cpu.generated;

import org.isobar.tensor.DType;

/**
 * How right operands of products are cut into panels of columns, so that the sums of some rows of a panel stay in
 * registers. A panel is stored row by row, its last columns being zero where it has fewer.
 *
 * @param set     the instructions that compute with it
 * @param vectors vectors in a row
 */
record Panel(InstructionSet set, int vectors) {
    private static final int MOST_VECTORS = 3;

    /** Returns the panels of an operand of n columns. */
    static Panel of(InstructionSet set, long n) {
        boolean wide = set == InstructionSet.AVX512 && n % (2L * set.lanes) != 0
            && Math.ceilDiv(n, set.lanes) % MOST_VECTORS == 0;
        return new Panel(set, wide ? MOST_VECTORS : 2);
    }

    /** Terms of a sum in a row of a panel: a lane has one number in F32, and two in BF16. */
    static int termsPerStep(DType dtype) {
        return Float.BYTES / dtype.bytes();
    }

    /** Rows of a panel for sums of k terms, a multiple of those in a row. */
    static long steps(DType dtype, long k) {
        return k / termsPerStep(dtype);
    }

    /** Columns of a panel. */
    int columns() {
        return vectors * set.lanes;
    }

    /** Columns of n in the panel of the given number. */
    int columns(long n, long number) {
        return (int) Math.min(columns(), n - number * columns());
    }

    /** Bytes of a row. */
    int bytes() {
        return columns() * Float.BYTES;
    }

    /** Panels of n columns. */
    long count(long n) {
        return Math.ceilDiv(n, columns());
    }
}
