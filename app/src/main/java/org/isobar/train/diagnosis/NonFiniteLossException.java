package org.isobar.train.diagnosis;

import org.isobar.fault.UserException;

/** A training step's loss is not finite, and the run is to end. Weights and optimizer are as before that step. */
public final class NonFiniteLossException extends UserException {
    private static final long serialVersionUID = 1L;

    private final long step;

    /** @param step its number in the run, from 1 */
    public NonFiniteLossException(String message, long step) {
        super(message);
        this.step = step;
    }

    /** The number of the step in the run, from 1: a checkpoint of the state now is of the iteration before it. */
    public long step() {
        return step;
    }
}
