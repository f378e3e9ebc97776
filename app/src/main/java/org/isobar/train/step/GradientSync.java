package org.isobar.train.step;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.GradientBuckets;
import org.isobar.distributed.ProcessGrid;
import org.isobar.nn.Parameter;
import org.isobar.nn.ParameterStore;

/**
 * Reduces gradients over the ranks that share a weight, in buckets, overlapped with backward. Gradients are summed over
 * dp, too; the optimizer divides the sums by {@link #replicas}.
 */
public final class GradientSync {
    private final GradientBuckets buckets;
    private final int replicas;
    private final Map<Parameter, Integer> indices = new IdentityHashMap<>();

    /**
     * How gradients are reduced.
     *
     * @param bucketCapMb maximum bucket size in MiB
     * @param replicas    whether data-parallel replicas train one model or each its own
     */
    public record Options(double bucketCapMb, Replicas replicas) {
        /** Buckets of 25 MiB and one model on all replicas: the defaults of PyTorch's DistributedDataParallel. */
        public static final Options DEFAULT = new Options(25, Replicas.TOGETHER);
    }

    /** Whether data-parallel replicas train together. */
    public enum Replicas {
        /** Replicas train one model by the mean of their gradients. */
        TOGETHER,
        /** Each replica trains its own model; gradients are not reduced over dp ({@code --noddp}). */
        APART
    }

    /** Reduces the gradients of {@code parameters}, in the reverse order of their declaration. */
    public GradientSync(ParameterStore parameters, Communicators communicators, Options options) {
        List<Parameter> reversed = parameters.parameters().reversed();
        List<GradientBuckets.Range> ranges = new ArrayList<>();
        for (GradientBuckets.Range range : parameters.ranges().reversed()) {
            ranges.add(new GradientBuckets.Range(range.offset(), range.length(),
                over(range.over(), communicators.grid(), options)));
        }
        for (int i = 0; i < reversed.size(); i++) {
            indices.put(reversed.get(i), i);
        }
        buckets = new GradientBuckets(parameters.gradients(), ranges, options.bucketCapMb(), communicators);
        replicas = options.replicas() == Replicas.TOGETHER ? communicators.grid().size(Axis.DP) : 1;
    }

    /** Number of replicas over which each gradient is summed. */
    public int replicas() {
        return replicas;
    }

    /** The axes to reduce over. Axes of size 1 are left out, so that ranges that differ only in them share a bucket. */
    private static Set<Axis> over(Set<Axis> axes, ProcessGrid grid, Options options) {
        Set<Axis> over = EnumSet.copyOf(axes);
        over.removeIf(axis -> grid.size(axis) == 1);
        if (options.replicas() == Replicas.APART) {
            over.remove(Axis.DP);
        }
        return over;
    }

    /**
     * Marks the gradient of {@code parameter} as complete on this rank and starts the reductions that are ready.
     *
     * @throws IllegalStateException if the gradient was already marked in this pass
     */
    public void ready(Parameter parameter) {
        buckets.ready(indices.get(parameter));
    }

    /**
     * Returns when all gradients are reduced.
     *
     * @throws IllegalStateException if backward has not completed all of them
     * @throws org.isobar.distributed.CommunicationException if a reduction has failed on any rank
     */
    public void await() {
        buckets.await();
    }
}
