package org.isobar.distributed;

import org.isobar.fault.UserException;
import org.isobar.tensor.Shape;

/**
 * The part of a weight that a rank holds: one of {@code parts} equal, consecutive slices along one dimension. A weight
 * is stored as (out, in) for y = x W^T, so the column-parallel cut of the matrix A = W^T is a cut of W by rows.
 *
 * @param dim   the dimension that is cut
 * @param parts number of slices; 1 if the weight is whole
 * @param index which slice, from 0
 */
public record Shard(int dim, int parts, int index) {
    /** Checks that the slice is one of the parts. */
    public Shard {
        if (dim < 0 || parts < 1 || index < 0 || index >= parts) {
            throw new IllegalArgumentException("slice " + index + " of " + parts + " along dimension " + dim);
        }
    }

    /** Not cut. */
    public static Shard whole() {
        return new Shard(0, 1, 0);
    }

    /** The cut of a column-parallel weight or bias: rank i of the group holds its i-th slice of outputs. */
    public static Shard columnParallel(ProcessGroup group) {
        return new Shard(0, group.size(), group.index());
    }

    /** The cut of a row-parallel weight: rank i of the group holds its i-th slice of inputs. */
    public static Shard rowParallel(ProcessGroup group) {
        return new Shard(1, group.size(), group.index());
    }

    /** Number of entries of the slice along {@code dim}, of {@code extent} in all. */
    public long length(long extent) {
        if (extent % parts != 0) {
            throw new UserException("a dimension of " + extent + " cannot be cut into " + parts
                + " equal parts; choose a tensor-parallel size that divides it");
        }
        return extent / parts;
    }

    /** First entry of the slice along {@code dim}, of {@code extent} in all. */
    public long start(long extent) {
        return index * length(extent);
    }

    /** The shape of the slice of a weight of the given shape. */
    public Shape local(Shape global) {
        long[] extents = global.extents();
        if (parts > 1) {
            extents[dim] = length(extents[dim]);
        }
        return Shape.of(extents);
    }

    /** Where the elements of the slice lie in a weight of the given shape. */
    public Runs runs(Shape global) {
        long inner = 1; // elements of one entry of the dimension that is cut
        for (int behind = dim + 1; behind < global.rank(); behind++) {
            inner *= global.extent(behind);
        }
        long cut = global.extent(dim);
        long run = length(cut) * inner;
        return new Runs(local(global).elements() / run, run, start(cut) * inner, cut * inner);
    }

    /**
     * A slice as runs of neighbouring elements, equally long and equally far apart in the whole; in the slice itself
     * they lie one behind the other.
     *
     * @param count  runs
     * @param length elements of a run
     * @param first  place of the first element in the whole
     * @param stride from run to run in the whole
     */
    public record Runs(long count, long length, long first, long stride) {
        /** Place of a run in the whole. */
        public long start(long run) {
            return first + run * stride;
        }
    }
}
