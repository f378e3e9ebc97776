package org.isobar.nn;

import org.isobar.device.ops.IndexSpan;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Communicators;

/**
 * One rank's position in model parallelism: tensor parallelism shards weights, context parallelism shards the sequence.
 * The communicator of a group of one rank has collectives that do nothing, so layers need no special case for it.
 *
 * @param tensor   communicator of the ranks that hold the other slices of the same weights
 * @param sequence sequence sharded over the ranks that hold the other tokens of the same samples
 */
public record Layout(Communicator tensor, Sequence sequence) {
    /**
     * The layout of one rank of a grid, for sequences of {@code tokens} tokens.
     *
     * @throws IllegalArgumentException if there are fewer tokens than context-parallel ranks
     */
    public static Layout of(Communicators communicators, long tokens) {
        return new Layout(communicators.along(Axis.TP), new Sequence(communicators.along(Axis.CP), tokens));
    }

    /** The size of this rank's shard of a dimension that tensor parallelism shards evenly: heads, hidden units. */
    public long share(long extent) {
        assert extent % tensor.group().size() == 0 : extent + " over " + tensor.group();
        return extent / tensor.group().size();
    }

    /** The position of this rank's shard in the full dimension. */
    public IndexSpan span(long extent) {
        return new IndexSpan(tensor.group().index() * share(extent), 1, extent);
    }
}
