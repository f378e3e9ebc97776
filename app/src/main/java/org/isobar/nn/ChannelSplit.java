package org.isobar.nn;

import java.util.function.Consumer;

import org.isobar.device.DeviceArena;
import org.isobar.device.ops.TensorOps;
import org.isobar.distributed.Communicator;
import org.isobar.tensor.Tensor;

/**
 * Channels cut evenly among the ranks of a group: whole tensors are (M, n * W), parts (M, W). A collective lays parts
 * out by rank, (n, M, W); exchanging the two outer dimensions makes them neighbours in each row.
 */
record ChannelSplit(Communicator group) {

    /** Fills {@code whole} (M, n * W) with all ranks' parts; {@code fill} computes this rank's, (M, W). */
    void gather(Tensor whole, Consumer<Tensor> fill, DeviceArena.Scope scratch, TensorOps ops) {
        if (ranks() == 1) {
            fill.accept(whole);
            return;
        }
        Tensor byRank = scratch.allocate(whole.dtype(), ranks(), rows(whole), width(whole));
        Tensor part = byRank.slice(group.group().index(), 1);
        fill.accept(part.reshape(rows(whole), width(whole)));
        group.allGather(byRank, part).await();
        ops.transposeOuter(whole.reshape(rows(whole), ranks(), width(whole)), byRank);
    }

    /** This rank's part (.., W) of {@code whole} (.., n * W): itself if alone, else a copy in {@code scratch}. */
    Tensor part(Tensor whole, DeviceArena.Scope scratch, TensorOps ops) {
        if (ranks() == 1) {
            return whole;
        }
        Tensor byRank = scratch.allocate(whole.dtype(), ranks(), rows(whole), width(whole));
        ops.transposeOuter(byRank, whole.reshape(rows(whole), ranks(), width(whole)));
        long[] extents = whole.shape().extents();
        extents[extents.length - 1] = width(whole);
        return byRank.slice(group.group().index(), 1).reshape(extents);
    }

    private int ranks() {
        return group.group().size();
    }

    private static long rows(Tensor whole) {
        return whole.shape().rows();
    }

    private long width(Tensor whole) {
        return whole.shape().extent(-1) / ranks();
    }
}
