package org.isobar.distributed;

import org.isobar.fault.UserException;
import org.isobar.tensor.Shape;

/**
 * The slice of a weight that a rank holds: one of {@code parts} equal, consecutive slices along one dimension. A weight
 * is stored as (out, in) for y = x W^T, so the column-parallel split of the matrix A = W^T is a split of W by rows.
 *
 * @param dim   the dimension that is split
 * @param parts number of slices; 1 if the weight is not split
 * @param index index of this slice, from 0
 */
public record Shard(int dim, int parts, int index) {
    /** Checks that the index is valid. */
    public Shard {
        if (dim < 0 || parts < 1 || index < 0 || index >= parts) {
            throw new IllegalArgumentException("slice " + index + " of " + parts + " along dimension " + dim);
        }
    }

    /** The whole weight. */
    public static Shard whole() {
        return new Shard(0, 1, 0);
    }

    /** The slice of a column-parallel weight or bias: rank i of the group holds the i-th slice of the outputs. */
    public static Shard columnParallel(ProcessGroup group) {
        return new Shard(0, group.size(), group.index());
    }

    /** The slice of a row-parallel weight: rank i of the group holds the i-th slice of the inputs. */
    public static Shard rowParallel(ProcessGroup group) {
        return new Shard(1, group.size(), group.index());
    }

    /**
     * Number of entries of the slice along {@code dim}.
     *
     * @param extent entries of the whole weight along {@code dim}
     * @throws UserException if the parts would not be equal
     */
    public long length(long extent) {
        if (extent % parts != 0) {
            throw new UserException("a dimension of " + extent + " cannot be split into " + parts
                + " equal parts; choose a tensor-parallel size that divides it");
        }
        return extent / parts;
    }

    /** First entry of the slice along {@code dim}, where the whole weight has {@code extent} entries. */
    public long start(long extent) {
        return index * length(extent);
    }

    /** The shape of the slice of a weight of shape {@code global}. */
    public Shape local(Shape global) {
        long[] extents = global.extents();
        if (parts > 1) {
            extents[dim] = length(extents[dim]);
        }
        return Shape.of(extents);
    }

    /** The positions of the slice's elements in a weight of shape {@code global}. */
    public Runs runs(Shape global) {
        long inner = 1; // elements of one entry of the split dimension
        for (int i = dim + 1; i < global.rank(); i++) {
            inner *= global.extent(i);
        }
        long extent = global.extent(dim);
        long run = length(extent) * inner;
        return new Runs(local(global).elements() / run, run, start(extent) * inner, extent * inner);
    }

    /**
     * A slice as runs of contiguous elements of equal length and equal stride in the whole weight. In the slice, the
     * runs are contiguous.
     *
     * @param count  number of runs
     * @param length number of elements of a run
     * @param first  offset of the first element in the whole weight
     * @param stride distance of consecutive runs in the whole weight, in elements
     */
    public record Runs(long count, long length, long first, long stride) {
        /** Offset in the whole weight of the first element of a run. */
        public long start(long run) {
            return first + run * stride;
        }
    }
}
