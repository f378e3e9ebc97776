package org.isobar.nn;

import java.util.ArrayList;
import java.util.List;

import org.isobar.device.DeviceArena;
import org.isobar.nn.LayerNorm.Statistics;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Transformer blocks in sequence, with the residual stream (B, T, C) between them in F32. The last sum of a block and
 * the first norm of the next are one operation, forward and backward, so that the stream is read once. Blocks of which
 * all activations are recomputed run one by one.
 *
 * <p>Saved for backward: the input of each block but the first, in addition to what the blocks save.
 */
public final class TransformerStack implements Layer {
    private final List<TransformerBlock> blocks;
    private final List<RecomputedLayer> recomputed;

    private record Kept(List<Tensor> streams) { }

    /**
     * The blocks in the order of forward.
     *
     * @param blocks    at least one
     * @param recompute the activations to recompute; {@link Recompute#MLP} is up to the blocks
     */
    public TransformerStack(List<TransformerBlock> blocks, Recompute recompute) {
        this.blocks = List.copyOf(blocks);
        recomputed = recompute == Recompute.BLOCK ? blocks.stream().map(RecomputedLayer::new).toList() : List.of();
    }

    @Override
    public void forward(Tensor y, Tensor x, Pass pass) {
        List<Tensor> streams = new ArrayList<>();
        for (int i = 1; i < blocks.size(); i++) {
            streams.add(pass.keep(DType.F32, x.shape().extents()));
        }
        Kept kept = new Kept(List.copyOf(streams));
        streams.addFirst(x);
        streams.add(y);
        if (recomputed.isEmpty()) {
            forward(streams, pass);
        } else {
            for (int i = 0; i < blocks.size(); i++) {
                recomputed.get(i).forward(streams.get(i + 1), streams.get(i), pass);
            }
        }
        pass.push(this, kept);
    }

    private void forward(List<Tensor> streams, Pass pass) {
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Tensor x = streams.getFirst();
            Tensor normed = scratch.allocate(pass.compute(), x.shape().extents());
            Statistics statistics = blocks.getFirst().norm1(normed, x, pass);
            int last = blocks.size() - 1;
            for (int i = 0; i < last; i++) {
                statistics = blocks.get(i).forward(streams.get(i + 1), streams.get(i), normed, statistics,
                    blocks.get(i + 1), pass);
            }
            blocks.get(last).forward(streams.get(last + 1), streams.get(last), normed, statistics, pass);
        }
    }

    /** See {@link Layer}. {@code dx} may be {@code dy}, which saves a copy. */
    @Override
    public void backward(Tensor dx, Tensor dy, Tensor x, Pass pass) {
        if (!dx.aliases(dy)) {
            pass.ops().memory().copy(dx, dy);
        }
        List<Tensor> streams = new ArrayList<>(pass.pop(this, Kept.class).streams());
        streams.addFirst(x);
        if (recomputed.isEmpty()) {
            backward(dx, streams, pass);
        } else {
            for (int i = blocks.size() - 1; i >= 0; i--) {
                recomputed.get(i).backward(dx, dx, streams.get(i), pass);
            }
        }
    }

    private void backward(Tensor dStream, List<Tensor> streams, Pass pass) {
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Tensor room = blocks.stream().allMatch(block -> block.passesGradients(pass)) ? dStream
                : scratch.allocate(pass.compute(), dStream.shape().extents());
            blocks.getLast().mlpGradient(dStream, room, pass).compute(dStream, pass);
            for (int i = blocks.size() - 1; i >= 0; i--) {
                BranchGradient before = i == 0 ? BranchGradient.none(dStream)
                    : blocks.get(i - 1).mlpGradient(dStream, room, pass);
                blocks.get(i).backward(dStream, before, streams.get(i), room, pass);
            }
        }
    }
}
