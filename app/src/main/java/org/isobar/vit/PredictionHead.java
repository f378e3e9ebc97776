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
 * Tokens to images: the final norm, a linear layer without bias to the values of a patch, and the patches put
 * together, in single precision. Kept: the norm's statistics.
 *
 * <p>Under context parallelism the norm sees this rank's tokens; then all are gathered, and every rank does the rest
 * for the whole image. Its gradients there are whole, and only those of the norm are summed over cp.
 */
final class PredictionHead {
    private final VitConfig config;
    private final Sequence sequence;
    private final LayerNorm norm;
    private final Linear head;

    private record Kept(LayerNorm.Statistics statistics) { }

    /** Declares {@code norm} and {@code head} at {@code here}. */
    PredictionHead(ParameterScope here, VitConfig config) {
        this.config = config;
        sequence = here.layout().sequence();
        norm = new LayerNorm(here.onSequenceShard().child("norm"), config.embed());
        head = new Linear(here.child("head"), config.embed(), config.outputPatches(1).tokenSize(), Linear.Bias.NONE);
    }

    /** {@code prediction} (B, Cout, H, W) from {@code tokens} (B, Tl, C). */
    void forward(Tensor prediction, Tensor tokens, Pass pass) {
        long batch = tokens.shape().extent(0);
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Tensor normed = scratch.allocate(pass.compute(), batch, config.tokens(), config.embed());
            Tensor patches = scratch.f32(batch, config.tokens(), config.outputPatches(batch).tokenSize());
            sequence.gather(normed, part -> pass.push(this, new Kept(norm.forward(part, tokens, pass))), scratch,
                pass.ops()).await();
            head.forward(patches, normed, pass);
            pass.ops().unpatchify(prediction, patches, config.outputPatches(batch));
        }
    }

    /** {@code dTokens} (B, Tl, C), overwritten, from {@code dPrediction} (B, Cout, H, W). */
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
            pass.ops().patchify(dPatches, dPrediction, config.outputPatches(batch));
            gather.await();
            head.backward(dNormed, dPatches, normed, pass);
            norm.backward(dTokens, sequence.part(dNormed, scratch, pass.ops()), tokens, statistics, WriteMode.OVERWRITE,
                pass);
        }
    }
}
