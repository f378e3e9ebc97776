package org.isobar.verify.layout;

/**
 * Difference between one result of a partitioned model and that of the whole model.
 *
 * @param what      what was compared, such as "attention: gradient of attn.q.weight"
 * @param error     the largest relative error of all ranks
 * @param tolerance the largest error allowed
 */
public record LayoutDeviation(String what, double error, double tolerance) {
    /** Whether the error is within the tolerance. */
    public boolean isWithinTolerance() {
        return error <= tolerance;
    }
}
