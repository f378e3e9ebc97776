package org.isobar.device.ops;

/**
 * Constants of the Adam optimizer.
 *
 * @param beta1   decay of the first moment
 * @param beta2   decay of the second moment
 * @param epsilon added to the square root of the second moment
 * @param divisor gradients are first multiplied by 1 / divisor, rounded to F32
 */
public record AdamConstants(double beta1, double beta2, double epsilon, double divisor) {
    /** Constants for gradients that are not divided. */
    public AdamConstants(double beta1, double beta2, double epsilon) {
        this(beta1, beta2, epsilon, 1);
    }

    /** These constants for gradients that are divided by {@code by} first. */
    public AdamConstants dividing(double by) {
        return new AdamConstants(beta1, beta2, epsilon, by);
    }
}
