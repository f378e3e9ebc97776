package org.isobar.config.keys;

import static org.isobar.config.keys.ValueType.IMAGE_SIZE;
import static org.isobar.config.keys.ValueType.count;
import static org.isobar.config.keys.ValueType.real;

import java.util.List;

/** The vision transformer's shape, as in the tutorial. */
public final class ModelKeys extends KeyGroup {
    // Far beyond any model. A larger number is a typing error, and tensor sizes could overflow.
    private static final int MOST_CHANNELS = 1 << 20;
    private static final int MOST_BLOCKS = 1000;

    public final Key<Integer> embedDim = add(Key.fixedOnResume("embed_dim", count(1, MOST_CHANNELS),
        "Embedding channels of a token."));
    public final Key<Integer> depth = add(Key.fixedOnResume("depth", count(1, MOST_BLOCKS), "Transformer blocks."));
    public final Key<Double> dropout = add(Key.fixedOnResume("dropout", real("of at least 0 and under 1",
        p -> p >= 0 && p < 1), "Probability of dropout. That of drop-path rises to it from block to block.")
        .defaultsTo(0.0));
    public final Key<Integer> patchSize = add(Key.fixedOnResume("patch_size", count(1, ValueType.MOST_PIXELS),
        "Rows and columns of a patch; one patch is one token."));
    public final Key<Integer> numHeads = add(Key.fixedOnResume("num_heads", count(1, MOST_CHANNELS),
        "Attention heads of a block; they divide embed_dim."));
    public final Key<List<Integer>> imgSize = add(Key.fixedOnResume("img_size", IMAGE_SIZE,
        "Rows and columns of an image; patch_size divides both."));
}
