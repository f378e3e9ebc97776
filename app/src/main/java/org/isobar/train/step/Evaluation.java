package org.isobar.train.step;

/**
 * Scores of one global batch.
 *
 * @param batch its loss
 * @param rmse  latitude-weighted RMSE of each channel, of normalized fields
 */
public record Evaluation(BatchLoss batch, double[] rmse) {
    /** Mean relative L2 loss. */
    public double loss() {
        return batch.mean();
    }
}
