package org.isobar.train.diagnosis;

import org.isobar.fault.UserException;

/** Ends a run because the loss of a training step is not finite. Weights and optimizer are those before that step. */
public final class NonFiniteLossException extends UserException {
    private static final long serialVersionUID = 1L;

    private final long step;

    /** @param step number of the step in the run, from 1 */
    public NonFiniteLossException(String message, long step) {
        super(message);
        this.step = step;
    }

    /** Number of the step in the run, from 1. A checkpoint saved now has iteration {@code step - 1}. */
    public long step() {
        return step;
    }
}
