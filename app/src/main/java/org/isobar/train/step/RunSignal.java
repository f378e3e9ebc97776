package org.isobar.train.step;

/**
 * What a rank would have all do after a step. The greatest wish of all ranks, which each of them learns with the step's
 * loss, is what they do.
 */
public enum RunSignal {
    /** Nothing. */
    NOTHING,
    /** To save a checkpoint. */
    SAVE,
    /** To save a checkpoint, and end. */
    STOP;

    /** The wish that travels as {@code number}. */
    static RunSignal of(double number) {
        return values()[(int) number];
    }

    /** As what it travels: the maximum is the greatest. */
    double number() {
        return ordinal();
    }
}
