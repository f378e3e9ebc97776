package org.isobar.train.step;

import java.util.Arrays;

/**
 * The loss of a global batch, and what this rank's part of it is made of.
 *
 * @param mean  loss of the global batch
 * @param terms of each sample of this rank: norm of the difference from the target, and of the target; (B, 2), flat
 */
public record BatchLoss(double mean, double[] terms) {

    /** From the mean, followed by the terms. */
    static BatchLoss of(double[] values) {
        return new BatchLoss(values[0], Arrays.copyOfRange(values, 1, values.length));
    }

    /** The first sample of this rank whose loss is not finite, by its place in the local batch; -1 if there is none. */
    public int firstNonFiniteSample() {
        for (int sample = 0; sample < terms.length / 2; sample++) {
            if (!Double.isFinite(terms[2 * sample] / terms[2 * sample + 1])) {
                return sample;
            }
        }
        return -1;
    }
}
