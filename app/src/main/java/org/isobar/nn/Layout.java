package org.isobar.nn;

import org.isobar.device.ops.IndexSpan;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Communicators;

/**
 * One rank's place in the cuts of its model: tensor parallelism cuts weights, context parallelism cuts the sequence. A
 * group of one rank has a communicator whose collectives do nothing, so a layer reads the same for every layout.
 *
 * @param tensor   the ranks that hold the other slices of the same weights
 * @param sequence the ranks that hold the other tokens of the same samples
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

    /** This rank's share of a dimension that tensor parallelism cuts evenly: heads, hidden units. */
    public long share(long extent) {
        assert extent % tensor.group().size() == 0 : extent + " over " + tensor.group();
        return extent / tensor.group().size();
    }

    /** How this rank's share lies in the whole dimension. */
    public IndexSpan span(long extent) {
        return new IndexSpan(tensor.group().index() * share(extent), 1, extent);
    }
}
