package org.isobar.data;

import java.util.stream.IntStream;

import org.isobar.random.Philox;

/**
 * Determines the order of samples on each data-parallel rank. An epoch is a permutation of all samples, equal on all
 * ranks and cut into global batches; the incomplete last batch is dropped. The samples of a global batch are
 * distributed by stride: sample b of shard r in step s is {@code order[s * globalBatch + b * shards + r]}. A step
 * therefore sees the same samples with every number of shards. A shard may read its samples of a step in several
 * micro-batches of equal size, one after the other.
 *
 * @param samples     number of samples in the data set
 * @param globalBatch number of samples of one step, over all shards
 * @param shards      number of data-parallel ranks; divides {@code globalBatch}
 * @param shard       the data-parallel rank
 * @param microBatches number of batches of one step on one shard
 * @param shuffle     whether to permute the samples; otherwise they keep the data set's order
 * @param seed        selects the permutations
 */
public record DistributedSampler(int samples, int globalBatch, int shards, int shard, int microBatches,
    boolean shuffle, long seed) {
    /** Checks the arguments. */
    public DistributedSampler {
        if (samples < 0 || globalBatch < 1 || shards < 1 || shard < 0 || shard >= shards || microBatches < 1
            || globalBatch % ((long) shards * microBatches) != 0) {
            throw new IllegalArgumentException("shard " + shard + " of " + shards + " with " + microBatches
                + " micro-batches of a batch of " + globalBatch);
        }
    }

    /** A sampler of one batch for each step. */
    public DistributedSampler(int samples, int globalBatch, int shards, int shard, boolean shuffle, long seed) {
        this(samples, globalBatch, shards, shard, 1, shuffle, seed);
    }

    /** Number of steps of an epoch: the number of complete global batches. */
    public int steps() {
        return samples / globalBatch;
    }

    /** Number of samples of one micro-batch on this shard. */
    public int localBatch() {
        return globalBatch / shards / microBatches;
    }

    /** Number of micro-batches of an epoch. */
    public int batches() {
        return steps() * microBatches;
    }

    /** This shard's samples of an epoch, in order: {@link #localBatch} numbers for each of {@link #batches} batches. */
    public int[] epoch(long epoch) {
        int[] order = shuffle
            ? Philox.permutation(Philox.Key.of(seed, "data order").at(epoch), samples)
            : IntStream.range(0, samples).toArray();
        return IntStream.range(0, batches() * localBatch()).map(i -> order[i * shards + shard]).toArray();
    }
}
