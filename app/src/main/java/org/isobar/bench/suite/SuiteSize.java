package org.isobar.bench.suite;

import org.isobar.bench.measure.Timing;

/** How much the CPU benchmark measures. */
public enum SuiteSize {
    /** All presets with all rounds. */
    WHOLE,
    /** Only preset {@code demo}. */
    QUICK,
    /** Everything with the sizes of preset {@code tiny}, without times. */
    REHEARSED;

    Timing timing() {
        return this == REHEARSED ? Timing.REHEARSED : Timing.MEASURED;
    }
}
