package org.isobar.plan.machine;

/**
 * The measured time of one operation at one size.
 *
 * @param name    name of the operation
 * @param type    name of its type
 * @param flops   floating-point operations
 * @param bytes   bytes read and written
 * @param seconds duration
 */
public record MeasuredOperation(String name, String type, double flops, double bytes, double seconds) {
    /** This operation with another time. */
    public MeasuredOperation in(double other) {
        return new MeasuredOperation(name, type, flops, bytes, other);
    }
}
