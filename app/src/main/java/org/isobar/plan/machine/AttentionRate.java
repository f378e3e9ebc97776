package org.isobar.plan.machine;

/**
 * Speed of attention for one size of heads, in floating-point operations per second, padding counted.
 *
 * @param half     whether operands have 16 bits
 * @param headDim  channels of a head that the kernel computes with
 * @param forward  of the two products of forward
 * @param backward of the five products of backward, one of which recomputes the scores
 */
public record AttentionRate(boolean half, long headDim, Quantity forward, Quantity backward) { }
