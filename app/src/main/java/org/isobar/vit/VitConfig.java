package org.isobar.vit;

import java.util.Optional;

import org.isobar.distributed.Communicators;
import org.isobar.model.ForwardGraph;
import org.isobar.model.ModelSpec;
import org.isobar.nn.Layout;
import org.isobar.nn.ParameterStore;
import org.isobar.nn.Recompute;

/**
 * The spec of a vision transformer: its sizes.
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
    int heads, int hidden, double dropout, Recompute recompute) implements ModelSpec, VitShape {

    /** A model without recomputation of whole layers. */
    public VitConfig(int height, int width, int patch, int inChannels, int outChannels, int embed, int depth,
        int heads, int hidden, double dropout) {
        this(height, width, patch, inChannels, outChannels, embed, depth, heads, hidden, dropout, Recompute.NONE);
    }

    @Override
    public VitConfig with(Recompute other) {
        return new VitConfig(height, width, patch, inChannels, outChannels, embed, depth, heads, hidden, dropout,
            other);
    }

    @Override
    public boolean canBeCut(int tensor, int context) {
        return heads % tensor == 0 && hidden % tensor == 0 && context <= tokens();
    }

    @Override
    public VisionTransformer create(ParameterStore parameters, Communicators communicators) {
        return new VisionTransformer(parameters, this, Layout.of(communicators, tokens()));
    }

    @Override
    public Optional<ForwardGraph> forwardGraph() {
        return Optional.of((graph, image) -> new VitGraph(this, graph).prediction(image));
    }
}
