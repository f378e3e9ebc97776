package org.isobar.bench.suite;

import java.util.Locale;

/** What the benchmark of the CPU is made of, in the order in which it is done. */
public enum SuiteSection {
    /** The most that the machine gives: copies and products. */
    CEILINGS,
    /** From nothing to the first step. */
    STARTUP,
    /** How fast samples are read. */
    LOADER,
    /** How a step's cost grows with tokens, width, depth and ranks. */
    GROWTH,
    /** Whole training steps beside PyTorch's, and each operation alone. */
    STEPS,
    /** Whether time and memory grow with the number of steps. */
    FLAT;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
