package org.isobar.train.step;

import java.util.Arrays;

/**
 * The loss of a global batch, and the terms of this rank's samples.
 *
 * @param mean  mean loss of the global batch
 * @param terms for each sample of this rank, in all micro-batches: norm of the difference from the target, norm of the
 *              target; (M, 2), flat
 */
public record BatchLoss(double mean, double[] terms) {

    /** Creates a loss from an array of the mean followed by the terms. */
    static BatchLoss of(double[] values) {
        return new BatchLoss(values[0], Arrays.copyOfRange(values, 1, values.length));
    }

    /** Index among this rank's samples of the first sample whose loss is not finite; -1 if there is none. */
    public int firstNonFiniteSample() {
        for (int sample = 0; sample < terms.length / 2; sample++) {
            if (!Double.isFinite(terms[2 * sample] / terms[2 * sample + 1])) {
                return sample;
            }
        }
        return -1;
    }
}
