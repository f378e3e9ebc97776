package org.isobar.train.collectives;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

import org.isobar.distributed.Axis;
import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.distributed.GradientBuckets;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.Reduction;
import org.isobar.tensor.Tensor;

/**
 * Checks that a step reduces each element of every gradient exactly once, over the axes that its layer declares: a mean
 * over dp and a sum over the others.
 *
 * @param grid      the process grid
 * @param gradients the flat gradient
 * @param declared  each parameter's range of it, with the axes that its layer declares
 * @param apart     whether data-parallel replicas train apart, so that nothing is reduced over dp
 */
public record GradientCover(ProcessGrid grid, Tensor gradients, List<GradientBuckets.Range> declared, boolean apart) {

    /** Describes the first element that the events of a step reduce wrongly; empty if there is none. */
    public Optional<String> check(int rank, Collection<CollectiveEvent> step) {
        List<CollectiveEvent> buckets = step.stream()
            .filter(event -> !event.opens() && event.tensor() != null && event.tensor().overlaps(gradients)).toList();
        return declared.stream().flatMap(range -> check(rank, range, buckets).stream()).findFirst();
    }

    private Optional<String> check(int rank, GradientBuckets.Range range, List<CollectiveEvent> buckets) {
        List<CollectiveEvent> own = buckets.stream().filter(bucket -> first(bucket) < range.offset() + range.length()
            && range.offset() < first(bucket) + bucket.tensor().elements()).toList();
        String group = group(range.over());
        String where = "rank " + rank + ", gradient elements " + range.offset() + " to "
            + (range.offset() + range.length()) + ": ";
        if (group.isEmpty()) {
            return own.isEmpty() ? Optional.empty() : Optional.of(where + "reduced, but complete on each rank, by "
                + describe(own.getFirst()));
        }
        if (own.size() != 1) {
            return Optional.of(where + "in " + own.size() + " buckets" + own.stream().map(GradientCover::describe)
                .collect(Collectors.joining("; ", own.isEmpty() ? "" : ": ", "")));
        }
        CollectiveEvent bucket = own.getFirst();
        if (first(bucket) > range.offset()
            || first(bucket) + bucket.tensor().elements() < range.offset() + range.length()) {
            return Optional.of(where + "partly outside of " + describe(bucket));
        }
        Reduction wanted = Reduction.SUM.times(over(range.over()).contains(Axis.DP) ? 1.0 / grid.size(Axis.DP) : 1);
        boolean right = bucket.call().kind() == Kind.ALL_REDUCE && bucket.group().equals(group)
            && bucket.call().reduction().equals(wanted);
        return right ? Optional.empty() : Optional.of(where + "declared for group " + group + ", "
            + (wanted.factor() == 1 ? "sum" : "mean over dp") + ", but reduced by " + describe(bucket));
    }

    private long first(CollectiveEvent bucket) {
        return (bucket.tensor().offset() - gradients.offset()) / gradients.dtype().bytes();
    }

    private List<Axis> over(Set<Axis> axes) {
        List<Axis> over = new ArrayList<>();
        for (Axis axis : Axis.values()) {
            if (axes.contains(axis) && grid.size(axis) > 1 && !(apart && axis == Axis.DP)) {
                over.add(axis);
            }
        }
        return over;
    }

    private String group(Set<Axis> axes) {
        return over(axes).stream().map(Axis::toString).collect(Collectors.joining("-"));
    }

    private static String describe(CollectiveEvent bucket) {
        return "group " + bucket.group() + ", " + bucket;
    }
}
