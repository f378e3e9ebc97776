package org.isobar.train.step;

/** A request of one rank to all ranks after a step. All ranks follow the greatest signal that any of them raises. */
public enum RunSignal {
    /** Continue. */
    NONE,
    /** Save a checkpoint. */
    SAVE,
    /** Save a checkpoint and end the run. */
    STOP;

    /** The signal with this {@link #number}. */
    static RunSignal of(double number) {
        return values()[(int) number];
    }

    /** The number that is reduced for this signal. The maximum of several numbers is that of the greatest signal. */
    double number() {
        return ordinal();
    }
}
