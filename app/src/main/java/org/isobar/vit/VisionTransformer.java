package org.isobar.vit;

import java.util.ArrayList;
import java.util.List;

import org.isobar.device.DeviceArena;
import org.isobar.model.Loss;
import org.isobar.model.Model;
import org.isobar.model.RelativeL2Loss;
import org.isobar.nn.Layout;
import org.isobar.nn.ParameterScope;
import org.isobar.nn.ParameterStore;
import org.isobar.nn.Pass;
import org.isobar.nn.Sequence;
import org.isobar.nn.TransformerBlock;
import org.isobar.nn.TransformerStack;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * The tutorial's vision transformer: patch embedding, positions, pre-norm blocks, prediction head. Parameters have the
 * names of its PyTorch {@code state_dict}.
 *
 * <p>Under context parallelism the sequence is scattered after the positions are added and gathered after the final
 * norm. The layers between compute this rank's tokens only.
 *
 * <p>Keeps for backward the input of the blocks and of the head, in addition to what these layers keep.
 */
public final class VisionTransformer implements Model {
    private final VitShape config;
    private final Sequence sequence;
    private final PatchEmbed embed;
    private final TransformerStack blocks;
    private final PredictionHead head;

    private record Kept(Tensor first, Tensor last) { }

    /** Declares this rank's slices of all parameters in {@code store}, in forward order. */
    VisionTransformer(ParameterStore store, VitShape config, Layout layout) {
        this.config = config;
        sequence = layout.sequence();
        ParameterScope root = ParameterScope.root(store, layout);
        embed = new PatchEmbed(root, config);
        List<TransformerBlock> each = new ArrayList<>();
        for (int i = 0; i < config.depth(); i++) {
            ParameterScope here = root.onSequenceShard().child("blocks").child(Integer.toString(i));
            each.add(new TransformerBlock(here, config.embed(), config.heads(), config.hidden(), config.dropout(),
                config.dropPath(i), config.recompute()));
        }
        blocks = new TransformerStack(each, config.recompute());
        head = new PredictionHead(root, config);
    }

    @Override
    public void forward(Tensor prediction, Tensor image, Pass pass) {
        Kept streams = new Kept(stream(image, pass), stream(image, pass));
        embed(streams.first(), image, pass);
        blocks.forward(streams.last(), streams.first(), pass);
        head.forward(prediction, streams.last(), pass);
        pass.push(this, streams);
    }

    @Override
    public void backward(Tensor dPrediction, Tensor image, Pass pass) {
        Kept streams = pass.pop(this, Kept.class);
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Tensor dStream = scratch.f32(streams.first().shape().extents());
            head.backward(dStream, dPrediction, streams.last(), pass);
            blocks.backward(dStream, dStream, streams.first(), pass);
            embedBackward(dStream, image, pass);
        }
    }

    /** Computes this rank's tokens: every rank computes all tokens and copies its part. */
    private void embed(Tensor stream, Tensor image, Pass pass) {
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Tensor tokens = sequence.room(stream, scratch);
            embed.forward(tokens, image, pass);
            sequence.scatter(stream, tokens, pass.ops());
        }
    }

    private void embedBackward(Tensor dStream, Tensor image, Pass pass) {
        try (DeviceArena.Scope scratch = pass.scratch()) {
            embed.backward(sequence.gathered(dStream, scratch, pass.ops()), image, pass);
        }
    }

    @Override
    public Loss loss() {
        return new RelativeL2Loss();
    }

    /** The module tree, as PyTorch prints the tutorial's model. */
    @Override
    public String toString() {
        return ModelSummary.of(config);
    }

    private Tensor stream(Tensor image, Pass pass) { // (B, Tl, C)
        return pass.keep(DType.F32, image.shape().extent(0), sequence.here(), config.embed());
    }
}
