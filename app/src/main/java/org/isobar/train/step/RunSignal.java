package org.isobar.train.step;

/** What a rank asks all ranks to do after a step; the greatest signal that any rank raises is what all do. */
public enum RunSignal {
    /** To go on. */
    NONE,
    /** To save a checkpoint. */
    SAVE,
    /** To save a checkpoint and end. */
    STOP;

    /** The signal that is sent as {@code number}. */
    static RunSignal of(double number) {
        return values()[(int) number];
    }

    /** The number that this signal is sent as. The maximum of several is that of the greatest. */
    double number() {
        return ordinal();
    }
}
