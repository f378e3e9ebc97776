package org.isobar.nn;

import java.util.function.Consumer;

import org.isobar.device.DeviceArena;
import org.isobar.device.ops.IndexSpan;
import org.isobar.device.ops.TensorOps;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.SequenceSplit;
import org.isobar.distributed.Work;
import org.isobar.tensor.Tensor;

/**
 * A sequence of T tokens cut among the ranks of a group, evenly or not: context parallelism, as Megatron-Core has it
 * with gathered keys and values. Tensors are (B, T, W) when whole and (B, Tl, W) on a rank, for any width W.
 *
 * <p>A collective wants each rank's part in one piece. Of a single sample it is one; of several, the parts go through a
 * staging tensor that is laid out by rank, (rank, B, Tl, W). A rank that is alone uses the tensor itself.
 */
public final class Sequence {
    private final Communicator group;
    private final long tokens;
    private final long[] sizes;
    private final int index;

    /**
     * A sequence of {@code tokens} tokens over the ranks of {@code group}.
     *
     * @throws IllegalArgumentException if there are fewer tokens than ranks
     */
    public Sequence(Communicator group, long tokens) {
        this.group = group;
        this.tokens = tokens;
        sizes = SequenceSplit.sizes(tokens, group.group().size());
        index = group.group().index();
    }

    /** Tokens of the whole sequence, T. */
    public long tokens() {
        return tokens;
    }

    /** Tokens of this rank, Tl. */
    public long here() {
        return sizes[index];
    }

    /** How this rank's tokens lie in the sequence. */
    public IndexSpan span() {
        return new IndexSpan(start(index), 1, tokens);
    }

    /** A gather under way; its memory is in use until {@link #await}. */
    public interface Gather {
        /** Returns when the whole sequence is there. */
        void await();
    }

    /** A sum under way; its memory is in use until {@link #await}. */
    public interface ReduceScatter {
        /** This rank's part of the sum, (B, Tl, W), when it is there; in the whole or in the scratch it was given. */
        Tensor await();
    }

    /**
     * Fills {@code whole} with all ranks' parts; {@code fill} computes this rank's. In backward the adjoint is
     * {@link #reduceScatter} where each rank uses the whole for itself, {@link #part} where all compute the same.
     *
     * @param whole   (B, T, W)
     * @param fill    writes this rank's part, (B, Tl, W), into the tensor that it is given; called once, before return
     * @param scratch may hold the staging tensor; stays open until the gather is awaited
     */
    public Gather gather(Tensor whole, Consumer<Tensor> fill, DeviceArena.Scope scratch, TensorOps ops) {
        if (isAlone()) {
            fill.accept(whole);
            return () -> { };
        }
        Tensor staging = staging(whole, scratch);
        Tensor part = place(staging, whole, index);
        fill.accept(part);
        Work work = group.allGather(staging, part, elements(whole));
        return () -> {
            work.await();
            unstage(whole, staging, ops);
        };
    }

    /**
     * Sums over the ranks and keeps this rank's part.
     *
     * @param whole   (B, T, W), overwritten; in use until the sum is awaited
     * @param scratch may hold the staging tensor; stays open as long as the part is used
     */
    public ReduceScatter reduceScatter(Tensor whole, DeviceArena.Scope scratch, TensorOps ops) {
        if (isAlone()) {
            return () -> whole;
        }
        Tensor staging = staging(whole, scratch);
        stage(staging, whole, ops);
        Tensor part = place(staging, whole, index);
        Work work = group.reduceScatter(part, staging, Reduction.SUM, elements(whole));
        return () -> {
            work.await();
            return part;
        };
    }

    /**
     * This rank's part of a sequence that every rank has whole.
     *
     * @param whole (B, T, W)
     * @return (B, Tl, W): {@code whole} itself, a view of it, or a copy in {@code scratch}
     */
    public Tensor part(Tensor whole, DeviceArena.Scope scratch, TensorOps ops) {
        if (isAlone() || batch(whole) == 1) {
            return place(whole, whole, index);
        }
        Tensor part = scratch.allocate(whole.dtype(), batch(whole), here(), width(whole));
        scatter(part, whole, ops);
        return part;
    }

    /** Room (B, T, W) for the whole of which {@code part} (B, Tl, W) is this rank's: itself where it is all. */
    public Tensor room(Tensor part, DeviceArena.Scope scratch) {
        return isAlone() ? part : scratch.allocate(part.dtype(), batch(part), tokens, part.shape().extent(2));
    }

    /** {@code part} (B, Tl, W) {@code = this rank's part of whole} (B, T, W), where that is not the same memory. */
    public void scatter(Tensor part, Tensor whole, TensorOps ops) {
        if (!isAlone()) {
            for (long sample = 0; sample < batch(whole); sample++) {
                ops.memory().copy(part.slice(sample, 1), rows(whole, sample, index));
            }
        }
    }

    /**
     * All ranks' parts together: the adjoint of {@link #scatter}, for gradients.
     *
     * @param part (B, Tl, W)
     * @return (B, T, W): {@code part} itself where it is all, else in {@code scratch}
     */
    public Tensor gathered(Tensor part, DeviceArena.Scope scratch, TensorOps ops) {
        Tensor whole = room(part, scratch);
        if (!isAlone()) {
            gather(whole, place -> ops.memory().copy(place, part), scratch, ops).await();
        }
        return whole;
    }

    private boolean isAlone() {
        return sizes.length == 1;
    }

    /** Room for all parts by rank: {@code whole} itself where that is the same. */
    private Tensor staging(Tensor whole, DeviceArena.Scope scratch) {
        return batch(whole) == 1 ? whole : scratch.allocate(whole.dtype(), whole.shape().extents());
    }

    /** The part of rank {@code rank}, (B, size, W), in a tensor laid out by rank. */
    private Tensor place(Tensor staging, Tensor whole, int rank) {
        long row = batch(whole) * width(whole); // one token of all samples
        return staging.reshape(tokens, row).slice(start(rank), sizes[rank])
            .reshape(batch(whole), sizes[rank], width(whole));
    }

    private void stage(Tensor staging, Tensor whole, TensorOps ops) {
        if (staging != whole) {
            eachPiece(whole, (sample, rank) ->
                ops.memory().copy(place(staging, whole, rank).slice(sample, 1), rows(whole, sample, rank)));
        }
    }

    private void unstage(Tensor whole, Tensor staging, TensorOps ops) {
        if (staging != whole) {
            eachPiece(whole, (sample, rank) ->
                ops.memory().copy(rows(whole, sample, rank), place(staging, whole, rank).slice(sample, 1)));
        }
    }

    private interface Piece {
        void accept(long sample, int rank);
    }

    private void eachPiece(Tensor whole, Piece piece) {
        for (int rank = 0; rank < sizes.length; rank++) {
            for (long sample = 0; sample < batch(whole); sample++) {
                piece.accept(sample, rank);
            }
        }
    }

    /** One sample's tokens of one rank, (1, size, W), where they lie in the whole. */
    private Tensor rows(Tensor whole, long sample, int rank) {
        return whole.slice(sample, 1).reshape(tokens, width(whole)).slice(start(rank), sizes[rank])
            .reshape(1, sizes[rank], width(whole));
    }

    private long start(int rank) {
        return rank * sizes[0];
    }

    private long[] elements(Tensor whole) {
        long[] elements = sizes.clone();
        for (int rank = 0; rank < elements.length; rank++) {
            elements[rank] *= batch(whole) * width(whole);
        }
        return elements;
    }

    private static long batch(Tensor tensor) {
        return tensor.shape().extent(0);
    }

    private long width(Tensor whole) {
        return whole.elements() / (batch(whole) * tokens);
    }
}
