package org.isobar.bench.measure;

import java.util.Locale;

/**
 * An operation in one phase of a training step.
 *
 * @param name  name of its method in {@link org.isobar.device.ops.TensorOps}, plus its epilogue if it has one
 * @param phase phase of the step
 */
public record StepOperation(String name, Phase phase) {
    /** Phases of a training step. */
    public enum Phase {
        /** From the images to the loss. */
        FORWARD,
        /** From the loss to the gradients. */
        BACKWARD,
        /** The optimizer step, including clearing of gradients. */
        UPDATE;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
