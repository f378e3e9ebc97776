package org.isobar.nn;

/**
 * Which activations of a block are computed again in backward, from what is kept of it, instead of being kept from
 * forward (activation checkpointing: Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016). The bits are
 * the same: masks and the order of sums do not depend on when something is computed. Outputs of norms, GELU and
 * attention's probabilities are never kept.
 */
public enum Recompute {
    /** No more than that. */
    NONE,
    /** The output of fc1 before the GELU, 4 of the 10 channels kept for each: one product more in each block. */
    MLP,
    /** Everything but the block's input: its forward pass a second time, collectives of tp and cp included. */
    BLOCK
}
