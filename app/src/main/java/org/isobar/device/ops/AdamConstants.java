package org.isobar.device.ops;

/**
 * Constants of the Adam optimizer.
 *
 * @param beta1   decay of the first moment
 * @param beta2   decay of the second moment
 * @param epsilon added to the square root of the second moment
 */
public record AdamConstants(double beta1, double beta2, double epsilon) { }
