package org.isobar.plan;

import org.isobar.config.keys.AmpMode;
import org.isobar.nn.Recompute;

/**
 * How a run is divided and computed.
 *
 * @param tp         ranks that share weights
 * @param cp         ranks that share tokens
 * @param dp         replicas
 * @param order      order of the axes in the process grid, without axes of one rank
 * @param localBatch samples of a replica in each step
 * @param accumulate number of micro-batches that they are cut into
 * @param precision  type of products
 * @param recompute  what backward computes again
 * @param graphs     whether steps are CUDA graphs
 */
public record PlanLayout(int tp, int cp, int dp, String order, int localBatch, int accumulate, AmpMode precision,
    Recompute recompute, boolean graphs) {
    /** Number of ranks. */
    public int ranks() {
        return tp * cp * dp;
    }

    /** This layout with another choice of what backward computes again. */
    PlanLayout with(Recompute other) {
        return new PlanLayout(tp, cp, dp, order, localBatch, accumulate, precision, other, graphs);
    }

    /** This layout with another number of micro-batches. */
    PlanLayout with(int microBatches) {
        return new PlanLayout(tp, cp, dp, order, localBatch, microBatches, precision, recompute, graphs);
    }

    /** This layout with another type of products. */
    PlanLayout with(AmpMode other) {
        return new PlanLayout(tp, cp, dp, order, localBatch, accumulate, other, recompute, graphs);
    }

    /** The layout in one line: {@code tp 2 cp 1 dp 4 order tp-dp}. */
    @Override
    public String toString() {
        return "tp " + tp + " cp " + cp + " dp " + dp + (order.isEmpty() ? "" : " order " + order);
    }
}
