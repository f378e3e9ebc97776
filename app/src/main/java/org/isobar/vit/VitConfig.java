package org.isobar.vit;

import org.isobar.device.ops.PatchShape;
import org.isobar.nn.Recompute;

/**
 * The shape of a vision transformer.
 *
 * @param height      rows of the image, a multiple of {@code patch}
 * @param width       columns of the image, a multiple of {@code patch}
 * @param patch       side of a patch in pixels
 * @param inChannels  variables read
 * @param outChannels variables predicted
 * @param embed       channels of the residual stream, a multiple of {@code heads}
 * @param depth       transformer blocks
 * @param heads       attention heads
 * @param hidden      hidden units of each MLP
 * @param dropout     probability after positions, in attention, projection and MLP; of drop-path it is the value of
 *                    the last block, growing linearly from 0 at the first
 * @param recompute   which activations are computed again in backward instead of being kept
 */
public record VitConfig(int height, int width, int patch, int inChannels, int outChannels, int embed, int depth,
    int heads, int hidden, double dropout, Recompute recompute) {

    /** A model that keeps what it would have to compute again at some cost. */
    public VitConfig(int height, int width, int patch, int inChannels, int outChannels, int embed, int depth,
        int heads, int hidden, double dropout) {
        this(height, width, patch, inChannels, outChannels, embed, depth, heads, hidden, dropout, Recompute.NONE);
    }

    /** The same model, but for what is computed again. */
    public VitConfig with(Recompute other) {
        return new VitConfig(height, width, patch, inChannels, outChannels, embed, depth, heads, hidden, dropout,
            other);
    }

    /** Tokens of one image. */
    public long tokens() {
        return (long) (height / patch) * (width / patch);
    }

    /** Probability of drop-path in block {@code index}: {@code torch.linspace(0, dropout, depth)[index]}. */
    public double dropPath(int index) {
        return depth == 1 ? 0 : dropout * index / (depth - 1);
    }

    /** How the input images of a batch are cut. */
    PatchShape inputPatches(long batch) {
        return new PatchShape(batch, inChannels, height, width, patch, PatchShape.Order.CHANNEL_FIRST);
    }

    /** How the predictions of a batch are put together. */
    PatchShape outputPatches(long batch) {
        return new PatchShape(batch, outChannels, height, width, patch, PatchShape.Order.CHANNEL_LAST);
    }
}
