package org.isobar.train.step;

import org.isobar.config.RunConfig;
import org.isobar.device.ops.IndexSpan;
import org.isobar.distributed.Axis;

/**
 * The micro-batches that a data-parallel rank computes in a step, one after the other (gradient accumulation). Sample b
 * of micro-batch m is sample m B + b of this rank, as {@link org.isobar.data.DistributedSampler} distributes the global
 * batch.
 *
 * @param count    number of micro-batches
 * @param size     samples B of each
 * @param replica  the data-parallel rank
 * @param replicas number of data-parallel ranks
 */
public record MicroBatches(int count, int size, int replica, int replicas) {
    /** The micro-batches of this process. */
    public static MicroBatches of(RunConfig config) {
        return new MicroBatches(config.training().microBatches(), config.training().localBatchSize(),
            config.grid().coordinate(config.ranks().rank(), Axis.DP), config.grid().size(Axis.DP));
    }

    /** Positions of the samples of a micro-batch, from 0, in the global batch. */
    public IndexSpan samples(int microBatch) {
        return new IndexSpan((long) microBatch * size * replicas + replica, replicas, (long) count * size * replicas);
    }
}
