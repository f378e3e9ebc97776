package org.isobar.distributed;

/**
 * How a collective combines the ranks' values: element by element, and the result is multiplied by a factor. With NCCL,
 * each value is multiplied before the sum instead, and the factor then includes the divisor of an average.
 *
 * @param kind   the operator that combines two values
 * @param factor multiplies the result; rounded to the type of the tensors; with NCCL, must be 1 for {@link #MAX}
 */
public record Reduction(Kind kind, double factor) {
    /** The sum over the group. */
    public static final Reduction SUM = new Reduction(Kind.SUM, 1);
    /** The mean over the group. */
    public static final Reduction AVERAGE = new Reduction(Kind.AVERAGE, 1);
    /** The maximum over the group. NaN if any value is NaN, except that NCCL may ignore NaN. */
    public static final Reduction MAX = new Reduction(Kind.MAX, 1);

    /** This reduction with its result multiplied by {@code factor}. */
    public Reduction times(double factor) {
        return new Reduction(kind, this.factor * factor);
    }

    /** The factor by which the combined values of {@code ranks} ranks are multiplied. */
    public double scale(int ranks) {
        return kind == Kind.AVERAGE ? factor / ranks : factor;
    }

    /** The operator that combines two values. */
    public enum Kind {
        /** Addition. */
        SUM,
        /** Addition, then division by the number of ranks. */
        AVERAGE,
        /** Maximum. */
        MAX
    }
}
