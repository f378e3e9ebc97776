package org.isobar.train.step;

/**
 * Scores of one global batch.
 *
 * @param batch loss of the batch
 * @param rmse  latitude-weighted RMSE of each channel, in normalized units
 */
public record Evaluation(BatchLoss batch, double[] rmse) {
    /** Mean relative L2 loss. */
    public double loss() {
        return batch.mean();
    }
}
