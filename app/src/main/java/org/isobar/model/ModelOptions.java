package org.isobar.model;

import org.isobar.nn.Recompute;

/**
 * The model options of a preset. An architecture uses the options that apply to it and ignores the others.
 *
 * @param height      rows of an image, from {@code img_size}
 * @param width       columns of an image, from {@code img_size}
 * @param patchSize   side of a square patch in pixels
 * @param inChannels  input variables
 * @param outChannels predicted variables
 * @param embedDim    channels of the residual stream
 * @param depth       number of blocks
 * @param numHeads    attention heads
 * @param dropout     dropout probability
 * @param recompute   which activations backward recomputes instead of keeping them (activation checkpointing)
 */
public record ModelOptions(int height, int width, int patchSize, int inChannels, int outChannels, int embedDim,
    int depth, int numHeads, double dropout, Recompute recompute) { }
