package org.isobar.backend.cpu.vector;

/**
 * Constants of Adam's update of every element: the next moments are {@code m = beta1 m + share1 g} and {@code v =
 * beta2 v + share2 g^2}, where g is the gradient times {@code part}, and the change of the parameter is {@code
 * step m / (sqrt(v) / root + epsilon)}. So {@code step} is negative, and {@code root} is sqrt(1 - beta2^t).
 */
public record AdamFactors(float beta1, float share1, float beta2, float share2, float step, float root, float epsilon,
    float part) { }
