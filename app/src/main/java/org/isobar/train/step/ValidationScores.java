package org.isobar.train.step;

/**
 * Means over all validation batches.
 *
 * @param loss        relative L2 loss
 * @param rmse        latitude-weighted RMSE of each channel, of normalized fields
 * @param persistence the same score of the persistence forecast, or null where it was not asked for
 */
public record ValidationScores(double loss, double[] rmse, double[] persistence) { }
