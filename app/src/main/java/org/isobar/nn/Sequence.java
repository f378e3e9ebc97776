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
 * A sequence of T tokens sharded over the ranks of a group, evenly or not: context parallelism, as in Megatron-Core
 * with gathered keys and values. A whole tensor is (B, T, W) and a rank's part is (B, Tl, W), for any width W.
 *
 * <p>A collective needs each rank's part to be contiguous. For a batch of one sample it is. For larger batches the
 * parts are copied through a staging tensor laid out by rank, (rank, B, Tl, W). A group of one rank uses the tensor
 * itself.
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

    /** The position of this rank's tokens in the sequence. */
    public IndexSpan span() {
        return new IndexSpan(start(index), 1, tokens);
    }

    /** An all-gather in progress. Its memory is in use until {@link #await}. */
    public interface Gather {
        /** Waits until the whole sequence has been gathered. */
        void await();
    }

    /** A reduce-scatter in progress. Its memory is in use until {@link #await}. */
    public interface ReduceScatter {
        /** Waits for this rank's part of the sum, (B, Tl, W), which is stored in the whole tensor or in scratch. */
        Tensor await();
    }

    /**
     * All-gathers the parts of all ranks into {@code whole}; {@code fill} computes this rank's part. The adjoint in
     * backward is {@link #reduceScatter} if each rank uses the whole differently, and {@link #part} if all ranks
     * compute the same from it.
     *
     * @param whole   (B, T, W)
     * @param fill    writes this rank's part, (B, Tl, W), into the tensor passed to it; called once, before this method
     *                returns
     * @param scratch may hold the staging tensor; must stay open until the gather is awaited
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
     * Sums {@code whole} over the ranks and returns this rank's part (reduce-scatter).
     *
     * @param whole   (B, T, W), overwritten; in use until the sum is awaited
     * @param scratch may hold the staging tensor; must stay open as long as the part is used
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
     * Returns this rank's part of a sequence that every rank holds in full.
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

    /**
     * Returns a tensor (B, T, W) for the whole of {@code part} (B, Tl, W); {@code part} itself in a group of one rank.
     */
    public Tensor room(Tensor part, DeviceArena.Scope scratch) {
        return isAlone() ? part : scratch.allocate(part.dtype(), batch(part), tokens, part.shape().extent(2));
    }

    /**
     * Copies this rank's part of {@code whole} (B, T, W) to {@code part} (B, Tl, W); a no-op in a group of one rank.
     */
    public void scatter(Tensor part, Tensor whole, TensorOps ops) {
        if (!isAlone()) {
            for (long sample = 0; sample < batch(whole); sample++) {
                ops.memory().copy(part.slice(sample, 1), rows(whole, sample, index));
            }
        }
    }

    /**
     * All-gathers the parts of all ranks: the adjoint of {@link #scatter}, for gradients.
     *
     * @param part (B, Tl, W)
     * @return (B, T, W): {@code part} itself in a group of one rank, otherwise in {@code scratch}
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

    /** Returns a tensor for all parts laid out by rank: {@code whole} itself for a batch of one sample. */
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

    /** A view of one sample's tokens of one rank, (1, size, W), in the whole tensor. */
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
