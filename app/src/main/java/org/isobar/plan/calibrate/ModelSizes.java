package org.isobar.plan.calibrate;

import org.isobar.config.ConfigRequest;

/**
 * Sizes of a model whose steps are measured.
 *
 * @param embed channels
 * @param depth blocks
 * @param heads heads of attention
 * @param batch samples of a step in all replicas
 */
record ModelSizes(int embed, int depth, int heads, int batch) {
    /** The preset with these sizes. */
    ConfigRequest in(ConfigRequest preset) {
        return preset.with("embed_dim", "" + embed).with("depth", "" + depth).with("num_heads", "" + heads)
            .with("global_batch_size", "" + batch).with("local_batch_size", "None");
    }

    /** These sizes with the samples that each of {@code processes} has, at least one. */
    ModelSizes shared(int processes) {
        return new ModelSizes(embed, depth, heads, Math.max(1, batch / processes));
    }
}
