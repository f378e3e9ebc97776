package org.isobar.vit;

import org.isobar.device.ops.PatchShape;
import org.isobar.nn.Recompute;

/** The extents of a vision transformer, as its layers use them. */
public interface VitShape {
    /** Rows of the image, a multiple of {@link #patch}. */
    int height();

    /** Columns of the image, a multiple of {@link #patch}. */
    int width();

    /** Side of a patch in pixels. */
    int patch();

    /** Variables read. */
    int inChannels();

    /** Variables predicted. */
    int outChannels();

    /** Channels of the residual stream, a multiple of {@link #heads}. */
    int embed();

    /** Transformer blocks. */
    int depth();

    /** Attention heads. */
    int heads();

    /** Hidden units of each MLP. */
    int hidden();

    /**
     * Probability of dropout after positions, in attention, projection and MLP. Drop-path has it in the last block, and
     * grows linearly to it from 0 in the first.
     */
    double dropout();

    /** Which activations are computed again in backward instead of being kept. */
    Recompute recompute();

    /** Tokens of one image. */
    default long tokens() {
        return (long) (height() / patch()) * (width() / patch());
    }

    /** Probability of drop-path in block {@code index}: {@code torch.linspace(0, dropout, depth)[index]}. */
    default double dropPath(int index) {
        return depth() == 1 ? 0 : dropout() * index / (depth() - 1);
    }

    /** How the input images of a batch are cut into patches. */
    default PatchShape inputPatches(long batch) {
        return new PatchShape(batch, inChannels(), height(), width(), patch(), PatchShape.Order.CHANNEL_FIRST);
    }

    /** How the predictions of a batch are put together from patches. */
    default PatchShape outputPatches(long batch) {
        return new PatchShape(batch, outChannels(), height(), width(), patch(), PatchShape.Order.CHANNEL_LAST);
    }
}
