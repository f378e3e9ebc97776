package org.isobar.distributed;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * Reduces gradients over the ranks that share a weight, overlapped with backward (Li et al., "PyTorch Distributed",
 * 2020). The flat gradient is divided into buckets of adjacent ranges, in the order in which backward completes them.
 * The all-reduce of a bucket starts when all of its ranges are complete and all earlier buckets have started. So all
 * ranks issue the same all-reduces in the same order.
 *
 * <p>One all-reduce sums a gradient over all of its axes together, dp included. The optimizer divides the sum by the
 * size of dp. The all-reduce does not, because NCCL computes in NVSwitches (NVLink SHARP) only sums without a factor.
 */
public final class GradientBuckets {
    private final List<Bucket> buckets = new ArrayList<>();
    private final int[] bucketOf;
    private final boolean[] complete;
    private int started;

    /**
     * Plans the buckets.
     *
     * @param gradient      the flat gradient of all weights, one dimension
     * @param ranges        in the order in which backward completes them, the same on all ranks
     * @param capMiB        largest size of a bucket in MiB; a single larger range is a bucket of its own
     * @param communicators opens the communicators of the axes over which ranges are reduced
     */
    public GradientBuckets(Tensor gradient, List<Range> ranges, double capMiB, Communicators communicators) {
        long cap = (long) (capMiB * 1024 * 1024) / gradient.dtype().bytes();
        bucketOf = new int[ranges.size()];
        complete = new boolean[ranges.size()];
        Range merged = null;
        int first = 0;
        for (int i = 0; i < ranges.size(); i++) {
            Range range = ranges.get(i);
            if (merged != null && !(merged.adjoins(range) && merged.length() + range.length() <= cap)) {
                buckets.add(new Bucket(merged, i - first, gradient, communicators));
                merged = null;
            }
            if (merged == null) {
                first = i;
            }
            bucketOf[i] = buckets.size();
            merged = merged == null ? range : merged.joined(range);
        }
        if (merged != null) {
            buckets.add(new Bucket(merged, ranges.size() - first, gradient, communicators));
        }
    }

    /** Number of buckets. */
    public int size() {
        return buckets.size();
    }

    /**
     * Records that backward has completed range {@code index}, and starts all buckets that can start.
     *
     * @throws IllegalStateException if the range is complete already
     */
    public void ready(int index) {
        if (complete[index]) {
            throw new IllegalStateException("range " + index + " of the gradients was completed twice in one step");
        }
        complete[index] = true;
        buckets.get(bucketOf[index]).pending--;
        while (started < buckets.size() && buckets.get(started).pending == 0) {
            buckets.get(started++).start();
        }
    }

    /**
     * Waits until every gradient is reduced, and prepares for the next step.
     *
     * @throws IllegalStateException if backward has not completed all ranges
     */
    public void await() {
        if (started < buckets.size()) {
            throw new IllegalStateException((buckets.size() - started) + " of " + buckets.size()
                + " buckets wait for gradients that backward has not completed");
        }
        buckets.forEach(Bucket::await);
        Arrays.fill(complete, false);
        started = 0;
    }

    /**
     * A range of the flat gradient that backward completes at once.
     *
     * @param offset first element in the flat gradient
     * @param length number of elements
     * @param over   axes over which it must be reduced; empty if it is complete on each rank
     */
    public record Range(long offset, long length, Set<Axis> over) {
        /** Checks that the range is not empty. */
        public Range {
            over = Set.copyOf(over);
            if (offset < 0 || length < 1) {
                throw new IllegalArgumentException("gradient range from " + offset + " to " + (offset + length));
            }
        }

        /** Whether {@code next} directly precedes or follows this range and is reduced over the same axes. */
        private boolean adjoins(Range next) {
            return over.equals(next.over) && (offset + length == next.offset || next.offset + next.length == offset);
        }

        private Range joined(Range next) {
            return new Range(Math.min(offset, next.offset), length + next.length, over);
        }
    }

    /** Adjacent ranges that are reduced by one all-reduce. */
    private static final class Bucket {
        private final int ranges;
        private final Tensor gradient;
        private final Communicator communicator;
        private int pending;
        private Work work;

        Bucket(Range range, int ranges, Tensor flat, Communicators communicators) {
            this.ranges = ranges;
            pending = ranges;
            DType dtype = flat.dtype();
            gradient = new Tensor(flat.storage(), flat.offset() + range.offset() * dtype.bytes(), dtype,
                Shape.of(range.length()));
            communicator = communicators.along(range.over());
        }

        void start() {
            work = communicator.allReduce(gradient, Reduction.SUM);
        }

        void await() {
            work.await();
            pending = ranges;
        }
    }
}
