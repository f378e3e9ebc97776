package org.isobar.nn;

/**
 * Activation checkpointing: which activations of a block are recomputed in backward instead of being saved in forward
 * (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016). Results are bit-identical: masks and the order
 * of sums do not depend on when something is computed. The outputs of norms and GELU and the attention probabilities
 * are recomputed in every mode.
 */
public enum Recompute {
    /** Recomputes nothing beyond these. */
    NONE,
    /** Recomputes the output of fc1 before the GELU, 4 of every 10 saved channels, at one extra product per block. */
    MLP,
    /** Saves only the block's input and runs its forward pass a second time, including the collectives of tp and cp. */
    BLOCK
}
