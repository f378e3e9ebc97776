package org.isobar.device.ops;

import org.isobar.tensor.Tensor;

/**
 * The gradient of a branch that ends with a bias, and that of the bias.
 *
 * @param gradient (B, T, C), compute type, written
 * @param dropPath over (B)
 * @param dBias    (C), F32, added to: the sum of the gradient, as it is stored, over B and T
 */
public record BiasedGradient(Tensor gradient, Dropout dropPath, Tensor dBias) { }
