package org.isobar.bench.measure;

import java.util.Locale;

/**
 * A kind of operation at one part of a training step.
 *
 * @param name  that of its method in {@link org.isobar.device.ops.TensorOps}, and its epilogue if it has one
 * @param phase where in the step
 */
public record StepOperation(String name, Phase phase) {
    /** Parts of a training step. */
    public enum Phase {
        /** From the image to the loss. */
        FORWARD,
        /** From the loss to the gradients. */
        BACKWARD,
        /** The optimizer, and what it clears. */
        UPDATE;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
