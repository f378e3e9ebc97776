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

/** Reduces gradients over the ranks that share a weight, bucket by bucket, while backward still computes others. */
public final class GradientSync {
    private final GradientBuckets buckets;
    private final Map<Parameter, Integer> places = new IdentityHashMap<>();

    /**
     * How gradients are reduced.
     *
     * @param bucketCapMb largest bucket in MiB
     * @param replicas    whether data-parallel replicas are one model or each its own
     */
    public record Options(double bucketCapMb, Replicas replicas) {
        /** Buckets of 25 MiB, replicas in step: PyTorch's defaults. */
        public static final Options DEFAULT = new Options(25, Replicas.TOGETHER);
    }

    /** What data-parallel replicas do. */
    public enum Replicas {
        /** Gradients are averaged over dp. */
        TOGETHER,
        /** Each replica trains by itself ({@code --noddp}). */
        APART
    }

    /** Parameters whose gradients lie where {@code parameters} says. */
    public GradientSync(ParameterStore parameters, Communicators communicators, Options options) {
        List<Parameter> backwards = parameters.parameters().reversed();
        List<GradientBuckets.Range> ranges = new ArrayList<>();
        for (GradientBuckets.Range range : parameters.ranges().reversed()) {
            ranges.add(new GradientBuckets.Range(range.offset(), range.length(),
                over(range.over(), communicators.grid(), options)));
        }
        for (int i = 0; i < backwards.size(); i++) {
            places.put(backwards.get(i), i);
        }
        buckets = new GradientBuckets(parameters.gradients(), ranges, options.bucketCapMb(), communicators);
    }

    /** Axes of one rank are left out, so that no bucket ends for their sake. */
    private static Set<Axis> over(Set<Axis> axes, ProcessGrid grid, Options options) {
        Set<Axis> over = EnumSet.copyOf(axes);
        over.removeIf(axis -> grid.size(axis) == 1);
        if (options.replicas() == Replicas.APART) {
            over.remove(Axis.DP);
        }
        return over;
    }

    /**
     * Backward has completed the gradient of {@code parameter} on this rank: starts what can be started.
     *
     * @throws IllegalStateException if it had said so before in this pass
     */
    public void ready(Parameter parameter) {
        buckets.ready(places.get(parameter));
    }

    /**
     * Returns when all gradients are reduced.
     *
     * @throws IllegalStateException if backward has not completed all of them
     * @throws org.isobar.distributed.CommunicationException if a reduction has failed, here or at another rank
     */
    public void await() {
        buckets.await();
    }
}
