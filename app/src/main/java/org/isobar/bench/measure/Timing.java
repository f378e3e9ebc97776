package org.isobar.bench.measure;

/** Whether a benchmark records times. */
public enum Timing {
    /** Times are recorded. */
    MEASURED,
    /** All work is done but no times are recorded, because those of the simulated machine are meaningless. */
    REHEARSED
}
