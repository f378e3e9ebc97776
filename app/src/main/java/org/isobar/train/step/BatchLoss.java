package org.isobar.train.step;

import java.util.Arrays;

/**
 * The loss of a global batch, what this replica's part of it came from, and what the ranks want.
 *
 * @param mean  relative L2 loss of the global batch
 * @param wish  the greatest of all ranks'
 * @param norms of each sample of this replica: of its difference from the target, and of the target; (B, 2), flat
 */
public record BatchLoss(double mean, RunSignal wish, double[] norms) {

    /** The mean, behind it the wish, and behind that the norms. */
    static BatchLoss of(double[] values) {
        return new BatchLoss(values[0], RunSignal.of(values[1]), Arrays.copyOfRange(values, 2, values.length));
    }

    /** The first sample of this replica whose loss is not finite, by its place in the local batch, or -1. */
    public int firstNonFiniteSample() {
        for (int sample = 0; sample < norms.length / 2; sample++) {
            if (!Double.isFinite(norms[2 * sample] / norms[2 * sample + 1])) {
                return sample;
            }
        }
        return -1;
    }
}
