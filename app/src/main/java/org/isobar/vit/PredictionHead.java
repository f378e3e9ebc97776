package org.isobar.vit;

import org.isobar.device.DeviceArena;
import org.isobar.device.ops.WriteMode;
import org.isobar.nn.LayerNorm;
import org.isobar.nn.Linear;
import org.isobar.nn.ParameterScope;
import org.isobar.nn.Pass;
import org.isobar.nn.Sequence;
import org.isobar.tensor.Tensor;

/**
 * Prediction head: converts tokens to images, in single precision. It consists of the final norm, a linear layer
 * without bias from a token to the values of a patch, and unpatchify. Keeps the norm's statistics for backward.
 *
 * <p>Under context parallelism the norm computes this rank's tokens. Then all tokens are gathered, and every rank
 * computes the rest for the whole image. The gradients of the linear layer are therefore complete on every rank; only
 * those of the norm are summed over cp.
 */
final class PredictionHead {
    private final VitShape config;
    private final Sequence sequence;
    private final LayerNorm norm;
    private final Linear head;

    private record Kept(LayerNorm.Statistics statistics) { }

    /** Declares the parameters of {@code norm} and {@code head} in the scope {@code here}. */
    PredictionHead(ParameterScope here, VitShape config) {
        this.config = config;
        sequence = here.layout().sequence();
        norm = new LayerNorm(here.onSequenceShard().child("norm"), config.embed());
        head = new Linear(here.child("head"), config.embed(), config.outputPatches(1).tokenSize(), Linear.Bias.NONE);
    }

    /** Computes {@code prediction} (B, Cout, H, W) from {@code tokens} (B, Tl, C). */
    void forward(Tensor prediction, Tensor tokens, Pass pass) {
        long batch = tokens.shape().extent(0);
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Tensor normed = scratch.allocate(pass.compute(), batch, config.tokens(), config.embed());
            Tensor patches = scratch.f32(batch, config.tokens(), config.outputPatches(batch).tokenSize());
            sequence.gather(normed, part -> pass.push(this, new Kept(norm.forward(part, tokens, pass))), scratch,
                pass.ops()).await();
            head.forward(patches, normed, pass);
            pass.ops().images().unpatchify(prediction, patches, config.outputPatches(batch));
        }
    }

    /** Overwrites {@code dTokens} (B, Tl, C) with the gradient computed from {@code dPrediction} (B, Cout, H, W). */
    void backward(Tensor dTokens, Tensor dPrediction, Tensor tokens, Pass pass) {
        LayerNorm.Statistics statistics = pass.pop(this, Kept.class).statistics();
        long batch = tokens.shape().extent(0);
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Tensor normed = scratch.allocate(pass.compute(), batch, config.tokens(), config.embed());
            Tensor dNormed = scratch.allocate(pass.compute(), batch, config.tokens(), config.embed());
            Tensor dPatches = scratch.allocate(pass.compute(), batch, config.tokens(),
                config.outputPatches(batch).tokenSize());
            Sequence.Gather gather = sequence.gather(normed,
                part -> norm.recompute(part, tokens, statistics, pass), scratch, pass.ops());
            pass.ops().images().patchify(dPatches, dPrediction, config.outputPatches(batch));
            gather.await();
            head.backward(dNormed, dPatches, normed, pass);
            norm.backward(dTokens, sequence.part(dNormed, scratch, pass.ops()), tokens, statistics, WriteMode.OVERWRITE,
                pass);
        }
    }
}
