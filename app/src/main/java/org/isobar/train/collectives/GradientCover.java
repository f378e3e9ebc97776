package org.isobar.train.collectives;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

import org.isobar.distributed.Axis;
import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.distributed.GradientBuckets;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.Reduction;
import org.isobar.tensor.Tensor;

/**
 * Checks that a step sums each element of every gradient exactly once, over the axes that its layer declares.
 *
 * @param grid      the process grid
 * @param gradients the flat gradient
 * @param declared  each parameter's range of it, with the axes that its layer declares
 * @param apart     whether data-parallel replicas train apart, so that nothing is reduced over dp
 */
public record GradientCover(ProcessGrid grid, Tensor gradients, List<GradientBuckets.Range> declared, boolean apart) {

    /** A reduction of some elements of the flat gradient, from {@code first} to before {@code end}. */
    private record Bucket(CollectiveEvent event, long first, long end) {
        @Override
        public String toString() {
            return "group " + event.group() + ", " + event;
        }
    }

    /** Describes the first element that the events of a step reduce wrongly; empty if there is none. */
    public Optional<String> check(int rank, Collection<CollectiveEvent> step) {
        List<Bucket> buckets = step.stream()
            .filter(event -> !event.opens() && event.tensor() != null && event.tensor().overlaps(gradients))
            .map(this::bucket).toList();
        Map<Set<Axis>, String> groups = new HashMap<>();
        return declared.stream().flatMap(range -> check(rank, range, buckets,
            groups.computeIfAbsent(range.over(), this::group)).stream()).findFirst();
    }

    private Optional<String> check(int rank, GradientBuckets.Range range, List<Bucket> buckets, String group) {
        List<Bucket> own = new ArrayList<>();
        for (Bucket bucket : buckets) {
            if (bucket.first < range.offset() + range.length() && range.offset() < bucket.end) {
                own.add(bucket);
            }
        }
        return difference(range, own, group).map(found -> "rank " + rank + ", gradient elements " + range.offset()
            + " to " + (range.offset() + range.length()) + ": " + found);
    }

    /** How {@code own}, the reductions of some elements of a range, differ from the one that it is declared for. */
    private Optional<String> difference(GradientBuckets.Range range, List<Bucket> own, String group) {
        if (group.isEmpty()) {
            return own.isEmpty() ? Optional.empty() : Optional.of("reduced, but complete on each rank, by "
                + own.getFirst());
        }
        if (own.size() != 1) {
            return Optional.of("in " + own.size() + " buckets" + own.stream().map(Bucket::toString)
                .collect(Collectors.joining("; ", own.isEmpty() ? "" : ": ", "")));
        }
        Bucket bucket = own.getFirst();
        if (bucket.first > range.offset() || bucket.end < range.offset() + range.length()) {
            return Optional.of("partly outside of " + bucket);
        }
        CollectiveCall call = bucket.event.call();
        boolean right = call.kind() == Kind.ALL_REDUCE && bucket.event.group().equals(group)
            && call.reduction().equals(Reduction.SUM);
        return right ? Optional.empty()
            : Optional.of("declared for group " + group + ", sum, but reduced by " + bucket);
    }

    private Bucket bucket(CollectiveEvent event) {
        long first = (event.tensor().offset() - gradients.offset()) / gradients.dtype().bytes();
        return new Bucket(event, first, first + event.tensor().elements());
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
}
