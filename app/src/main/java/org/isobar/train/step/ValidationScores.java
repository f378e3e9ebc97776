package org.isobar.train.step;

/**
 * Mean scores over all validation batches.
 *
 * @param loss        relative L2 loss
 * @param rmse        latitude-weighted RMSE of each channel, in normalized units
 * @param persistence RMSE of the persistence forecast for each channel, or null if it was not requested
 */
public record ValidationScores(double loss, double[] rmse, double[] persistence) { }
