package org.isobar.model;

import org.isobar.nn.Recompute;

/**
 * What a preset says of its model. An architecture reads the keys that it has and ignores the others.
 *
 * @param height      rows of an image, from {@code img_size}
 * @param width       columns of an image, from {@code img_size}
 * @param patchSize   side of a square patch in pixels
 * @param inChannels  variables read
 * @param outChannels variables predicted
 * @param embedDim    channels of the residual stream
 * @param depth       number of blocks
 * @param numHeads    attention heads
 * @param dropout     probability of dropout
 * @param recompute   which activations are computed again in backward
 */
public record ModelOptions(int height, int width, int patchSize, int inChannels, int outChannels, int embedDim,
    int depth,
    int numHeads, double dropout, Recompute recompute) { }
