package org.isobar.bench.suite;

import java.util.Locale;

/** Sections of the CPU benchmark, in the order in which they run. */
public enum SuiteSection {
    /** Throughput of copies and matrix products. */
    CEILINGS,
    /** Time from the start of the process to the first steps. */
    STARTUP,
    /** Read rates of samples. */
    LOADER,
    /** Cost of a step by tokens, width, depth and ranks. */
    GROWTH,
    /** Training steps of Isobar and PyTorch, and each operation of Isobar. */
    STEPS,
    /** Time and memory of a long run, to see whether they grow with the number of steps. */
    FLAT;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
