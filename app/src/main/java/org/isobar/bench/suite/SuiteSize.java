package org.isobar.bench.suite;

import org.isobar.bench.measure.Timing;

/** How much of the benchmark of the CPU is done. */
public enum SuiteSize {
    /** All presets, with all their rounds. */
    WHOLE,
    /** Preset {@code demo} alone. */
    QUICK,
    /** All of it at the size of preset {@code tiny}, without times. */
    REHEARSED;

    Timing timing() {
        return this == REHEARSED ? Timing.REHEARSED : Timing.MEASURED;
    }
}
