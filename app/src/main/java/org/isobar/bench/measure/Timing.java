package org.isobar.bench.measure;

/** Whether a clock is looked at. */
public enum Timing {
    /** Times are noted. */
    MEASURED,
    /** Everything is done as usual and no time is noted: those of the simulated machine mean nothing. */
    REHEARSED
}
