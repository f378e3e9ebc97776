package org.isobar.checkpoint;

import java.io.IOException;

import org.isobar.checkpoint.safetensors.SafeTensorsHeader.MalformedException;
import org.isobar.distributed.Shard;
import org.isobar.tensor.Shape;

/**
 * The intersection of two slices of a tensor, as runs of elements that are contiguous in both. Each slice is a box in
 * the tensor. A run covers all dimensions inside the innermost one in which the intersection is smaller than one of the
 * two boxes.
 */
final class SliceOverlap {
    private final Box source;
    private final Box target;
    private final long[] begin;
    private final long[] end;
    private final int runDim; // a run covers a range of this dimension and all dimensions inside it

    private SliceOverlap(Box source, Box target) {
        this.source = source;
        this.target = target;
        int rank = source.begin.length;
        begin = new long[rank];
        end = new long[rank];
        for (int dim = 0; dim < rank; dim++) {
            begin[dim] = Math.max(source.begin[dim], target.begin[dim]);
            end[dim] = Math.min(source.end(dim), target.end(dim));
        }
        int last = rank - 1;
        while (last > 0 && source.extent[last] == target.extent[last]
                && end[last] - begin[last] == source.extent[last]) {
            last--;
        }
        runDim = last;
    }

    /** Receives a run: its first element in the source slice and in the target slice, and its number of elements. */
    interface Run {
        void accept(long source, long target, long elements) throws IOException, MalformedException;
    }

    /** The intersection of two slices of a tensor of the given shape. */
    static SliceOverlap of(Shape shape, Shard source, Shard target) {
        return new SliceOverlap(new Box(shape, source), new Box(shape, target));
    }

    /** Calls {@code run} for each run, in ascending order of both offsets. */
    void eachRun(Run run) throws IOException, MalformedException {
        if (begin.length == 0) {
            run.accept(0, 0, 1);
        } else if (!isEmpty()) {
            walk(0, 0, 0, run);
        }
    }

    /** Whether the slices have no element in common. */
    boolean isEmpty() {
        for (int dim = 0; dim < begin.length; dim++) {
            if (begin[dim] >= end[dim]) {
                return true;
            }
        }
        return false;
    }

    private void walk(int dim, long sourceAt, long targetAt, Run run) throws IOException, MalformedException {
        long from = sourceAt + (begin[dim] - source.begin[dim]) * source.stride[dim];
        long to = targetAt + (begin[dim] - target.begin[dim]) * target.stride[dim];
        if (dim == runDim) {
            run.accept(from, to, (end[dim] - begin[dim]) * source.stride[dim]);
            return;
        }
        for (long i = 0; i < end[dim] - begin[dim]; i++) {
            walk(dim + 1, from + i * source.stride[dim], to + i * target.stride[dim], run);
        }
    }

    /** A slice as a box: its first index in the tensor, its extents, and the strides of its own memory. */
    private static final class Box {
        private final long[] begin;
        private final long[] extent;
        private final long[] stride;

        Box(Shape shape, Shard shard) {
            extent = shard.local(shape).extents();
            begin = new long[extent.length];
            stride = new long[extent.length];
            if (shard.parts() > 1) {
                begin[shard.dim()] = shard.start(shape.extent(shard.dim()));
            }
            long inner = 1;
            for (int dim = extent.length - 1; dim >= 0; dim--) {
                stride[dim] = inner;
                inner *= extent[dim];
            }
        }

        long end(int dim) {
            return begin[dim] + extent[dim];
        }
    }
}
