package org.isobar.vit;

import org.isobar.device.Arena;
import org.isobar.device.Write;
import org.isobar.nn.LayerNorm;
import org.isobar.nn.Linear;
import org.isobar.nn.Pass;
import org.isobar.nn.Scoped;
import org.isobar.tensor.Tensor;

/**
 * Tokens to images: the final norm, a linear layer without bias to the values of a patch, and the patches put
 * together. Kept: the norm's statistics.
 */
final class PredictionHead {
    private final VitConfig config;
    private final LayerNorm norm;
    private final Linear head;

    private record Kept(LayerNorm.Statistics statistics) { }

    /** Declares {@code norm} and {@code head} at {@code here}. */
    PredictionHead(Scoped here, VitConfig config) {
        this.config = config;
        norm = new LayerNorm(here.child("norm"), config.embed());
        head = new Linear(here.child("head"), config.embed(), config.outputPatches(1).tokenSize(), Linear.Bias.NONE);
    }

    /** {@code prediction} (B, Cout, H, W) from {@code tokens} (B, T, C). */
    void forward(Tensor prediction, Tensor tokens, Pass pass) {
        long batch = tokens.shape().extent(0);
        try (Arena.Scope scratch = pass.scratch()) {
            Tensor normed = scratch.f32(tokens.shape().extents());
            Tensor patches = scratch.f32(batch, config.tokens(), config.outputPatches(batch).tokenSize());
            LayerNorm.Statistics statistics = norm.forward(normed, tokens, pass);
            head.forward(patches, normed, pass);
            pass.ops().unpatchify(prediction, patches, config.outputPatches(batch));
            pass.push(this, new Kept(statistics));
        }
    }

    /** {@code dTokens} (B, T, C), overwritten, from {@code dPrediction} (B, Cout, H, W). */
    void backward(Tensor dTokens, Tensor dPrediction, Tensor tokens, Pass pass) {
        LayerNorm.Statistics statistics = pass.pop(this, Kept.class).statistics();
        long batch = tokens.shape().extent(0);
        try (Arena.Scope scratch = pass.scratch()) {
            Tensor normed = scratch.f32(tokens.shape().extents());
            Tensor dNormed = scratch.f32(tokens.shape().extents());
            Tensor dPatches = scratch.f32(batch, config.tokens(), config.outputPatches(batch).tokenSize());
            pass.ops().patchify(dPatches, dPrediction, config.outputPatches(batch));
            norm.recompute(normed, tokens, statistics, pass);
            head.backward(dNormed, dPatches, normed, pass);
            norm.backward(dTokens, dNormed, tokens, statistics, Write.OVERWRITE, pass);
        }
    }
}
