package org.isobar.vit;

import org.isobar.device.ops.PatchShape;
import org.isobar.nn.Recompute;

/**
 * Sizes of a vision transformer.
 *
 * @param height      rows of the image, a multiple of {@code patch}
 * @param width       columns of the image, a multiple of {@code patch}
 * @param patch       side of a patch in pixels
 * @param inChannels  number of input variables
 * @param outChannels number of predicted variables
 * @param embed       channels of the residual stream, a multiple of {@code heads}
 * @param depth       number of transformer blocks
 * @param heads       number of attention heads
 * @param hidden      number of hidden units of each MLP
 * @param dropout     dropout probability after positions, in attention, projection and MLP. The drop-path probability
 *                    grows linearly from 0 in the first block to this value in the last
 * @param recompute   which activations are recomputed in backward instead of being kept
 */
public record VitConfig(int height, int width, int patch, int inChannels, int outChannels, int embed, int depth,
    int heads, int hidden, double dropout, Recompute recompute) {

    /** A model without recomputation of whole layers. */
    public VitConfig(int height, int width, int patch, int inChannels, int outChannels, int embed, int depth,
        int heads, int hidden, double dropout) {
        this(height, width, patch, inChannels, outChannels, embed, depth, heads, hidden, dropout, Recompute.NONE);
    }

    /** A copy with another recomputation setting. */
    public VitConfig with(Recompute other) {
        return new VitConfig(height, width, patch, inChannels, outChannels, embed, depth, heads, hidden, dropout,
            other);
    }

    /** Number of tokens of one image. */
    public long tokens() {
        return (long) (height / patch) * (width / patch);
    }

    /** Drop-path probability of block {@code index}: {@code torch.linspace(0, dropout, depth)[index]}. */
    public double dropPath(int index) {
        return depth == 1 ? 0 : dropout * index / (depth - 1);
    }

    /** Shape of the patches of a batch of input images. */
    PatchShape inputPatches(long batch) {
        return new PatchShape(batch, inChannels, height, width, patch, PatchShape.Order.CHANNEL_FIRST);
    }

    /** Shape of the patches of a batch of predictions. */
    PatchShape outputPatches(long batch) {
        return new PatchShape(batch, outChannels, height, width, patch, PatchShape.Order.CHANNEL_LAST);
    }
}
