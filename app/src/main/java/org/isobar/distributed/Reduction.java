package org.isobar.distributed;

/**
 * How a collective puts the ranks' values together: combined one by one, and the result multiplied by a factor. NCCL
 * multiplies each value before the sum instead, and what divides an average is part of the factor then.
 *
 * @param kind   what combines two values
 * @param factor multiplies the result; rounded to the tensors' type; over NCCL, 1 for {@link #MAX}
 */
public record Reduction(Kind kind, double factor) {
    /** The sum over the group. */
    public static final Reduction SUM = new Reduction(Kind.SUM, 1);
    /** The mean over the group. */
    public static final Reduction AVERAGE = new Reduction(Kind.AVERAGE, 1);
    /** The largest over the group; not a number if any is not, but NCCL may pass over those. */
    public static final Reduction MAX = new Reduction(Kind.MAX, 1);

    /** This reduction, its result multiplied by {@code factor}. */
    public Reduction times(double factor) {
        return new Reduction(kind, this.factor * factor);
    }

    /** What the combined values of {@code ranks} ranks are multiplied by. */
    public double scale(int ranks) {
        return kind == Kind.AVERAGE ? factor / ranks : factor;
    }

    /** What combines two values. */
    public enum Kind {
        /** Addition. */
        SUM,
        /** Addition, and division by the number of ranks at the end. */
        AVERAGE,
        /** The larger one. */
        MAX
    }
}
