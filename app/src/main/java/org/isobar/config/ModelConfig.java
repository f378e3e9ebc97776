package org.isobar.config;

/**
 * The vision transformer's shape. Images are {@code height x width} grid points in {@code inChannels} (read) and
 * {@code outChannels} (forecast) variables, cut into patches of {@code patchSize x patchSize}; {@code dropout} is a
 * probability in [0, 1).
 */
public record ModelConfig(
    int embedDim,
    int depth,
    double dropout,
    int patchSize,
    int numHeads,
    int height,
    int width,
    int inChannels,
    int outChannels) {

    /** Width of the hidden layer of each perceptron, in units of {@code embedDim}; the tutorial knows no other. */
    public int mlpRatio() {
        return 4;
    }
}
