package org.isobar.distributed;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * Sums gradients over the ranks that share a weight while backward still computes others (Li et al., "PyTorch
 * Distributed", 2020). The flat gradient is cut into buckets of neighbouring ranges, in the order in which backward
 * completes them; a bucket's all-reduce starts when all of its ranges are complete, and always after those of earlier
 * buckets, so that all ranks issue the same ones in the same order.
 *
 * <p>A gradient is averaged over dp and summed over every other axis: one all-reduce over all of them together, times
 * 1/dp, does both.
 */
public final class GradientBuckets {
    private final List<Bucket> buckets = new ArrayList<>();
    private final int[] bucketOf;
    private final boolean[] complete;
    private int started;

    /**
     * Plans the buckets.
     *
     * @param gradient      all gradients, one dimension
     * @param ranges        in the order in which backward completes them, the same at all ranks
     * @param capMiB        largest size of a bucket in MiB, unless a single range is larger
     * @param communicators of the axes that ranges name
     */
    public GradientBuckets(Tensor gradient, List<Range> ranges, double capMiB, Communicators communicators) {
        long cap = (long) (capMiB * 1024 * 1024) / gradient.dtype().bytes();
        bucketOf = new int[ranges.size()];
        complete = new boolean[ranges.size()];
        Range whole = null;
        int first = 0;
        for (int i = 0; i < ranges.size(); i++) {
            Range range = ranges.get(i);
            if (whole != null && !(whole.adjoins(range) && whole.length() + range.length() <= cap)) {
                buckets.add(new Bucket(whole, i - first, gradient, communicators));
                whole = null;
            }
            if (whole == null) {
                first = i;
            }
            bucketOf[i] = buckets.size();
            whole = whole == null ? range : whole.joined(range);
        }
        if (whole != null) {
            buckets.add(new Bucket(whole, ranges.size() - first, gradient, communicators));
        }
    }

    /** Number of buckets. */
    public int size() {
        return buckets.size();
    }

    /** Backward has completed range {@code index} of the list; starts what can be started. */
    public void ready(int index) {
        if (complete[index]) {
            throw new IllegalStateException("range " + index + " of the gradients is complete for the second time");
        }
        complete[index] = true;
        buckets.get(bucketOf[index]).missing--;
        while (started < buckets.size() && buckets.get(started).missing == 0) {
            buckets.get(started++).start();
        }
    }

    /**
     * Waits until every gradient is reduced, and begins anew.
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
     * Gradients that backward completes together.
     *
     * @param offset first element in the flat gradient
     * @param length number of elements
     * @param over   axes over which they must still be reduced; the empty set if they are complete as they are
     */
    public record Range(long offset, long length, Set<Axis> over) {
        /** Checks that the range is not empty. */
        public Range {
            over = Set.copyOf(over);
            if (offset < 0 || length < 1) {
                throw new IllegalArgumentException("gradients " + offset + " to " + (offset + length));
            }
        }

        /** Whether {@code next} lies right before or behind this one and is reduced alike. */
        private boolean adjoins(Range next) {
            return over.equals(next.over) && (offset + length == next.offset || next.offset + next.length == offset);
        }

        private Range joined(Range next) {
            return new Range(Math.min(offset, next.offset), length + next.length, over);
        }
    }

    /** Ranges that are reduced together. */
    private static final class Bucket {
        private final int ranges;
        private final Tensor gradient;
        private final Communicator communicator;
        private final Reduction reduction;
        private int missing;
        private Work work;

        Bucket(Range range, int ranges, Tensor flat, Communicators communicators) {
            this.ranges = ranges;
            missing = ranges;
            DType dtype = flat.dtype();
            gradient = new Tensor(flat.storage(), flat.offset() + range.offset() * dtype.bytes(), dtype,
                Shape.of(range.length()));
            communicator = communicators.along(range.over());
            reduction = Reduction.SUM.times(range.over().contains(Axis.DP)
                ? 1.0 / communicators.grid().size(Axis.DP) : 1);
        }

        void start() {
            work = communicator.allReduce(gradient, reduction);
        }

        void await() {
            work.await();
            missing = ranges;
        }
    }
}
