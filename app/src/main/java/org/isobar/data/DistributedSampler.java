package org.isobar.data;

import java.util.stream.IntStream;

import org.isobar.random.Philox;

/**
 * The order in which samples come. Each epoch is one permutation of all samples, the same on every rank, cut into
 * global batches; the tail that fills no batch is dropped. A global batch is dealt out by stride: sample b of shard r
 * in step s is {@code order[s * globalBatch + b * shards + r]}. So a step sees the same samples at every number of
 * shards.
 *
 * @param samples     samples in the data set
 * @param globalBatch samples of one step, over all shards
 * @param shards      data-parallel ranks; divides {@code globalBatch}
 * @param shard       the rank that is served
 * @param shuffle     whether to permute; else samples come in their own order
 * @param seed        selects the permutations
 */
public record DistributedSampler(int samples, int globalBatch, int shards, int shard, boolean shuffle, long seed) {
    /** Checks the numbers. */
    public DistributedSampler {
        if (samples < 0 || globalBatch < 1 || shards < 1 || globalBatch % shards != 0 || shard < 0 || shard >= shards) {
            throw new IllegalArgumentException("shard " + shard + " of " + shards + " with a batch of " + globalBatch);
        }
    }

    /** Steps of an epoch: whole global batches in the data. */
    public int steps() {
        return samples / globalBatch;
    }

    /** Samples of one step on this shard. */
    public int localBatch() {
        return globalBatch / shards;
    }

    /** This shard's samples of an epoch in order: {@link #localBatch} for each of {@link #steps}. */
    public int[] epoch(long epoch) {
        int[] order = shuffle
            ? Philox.permutation(Philox.Key.of(seed, "data order").at(epoch), samples)
            : IntStream.range(0, samples).toArray();
        return IntStream.range(0, steps() * localBatch()).map(i -> order[i * shards + shard]).toArray();
    }
}
