package org.isobar.plan.cost;

import java.util.Collection;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;

/**
 * How a group lies on nodes.
 *
 * @param nodes   nodes that have a rank of the group
 * @param perNode ranks of the group on the node that has most
 */
public record GroupSpan(int nodes, int perNode) {
    /**
     * The different spans of all groups along {@code axes}. Ranks fill nodes in order, so groups whose first ranks
     * have the same place on their nodes have the same span.
     */
    public static Set<GroupSpan> of(ProcessGrid grid, Collection<Axis> axes, int ranksPerNode) {
        List<Integer> members = grid.group(0, axes).ranks();
        return grid.group(0, EnumSet.complementOf(EnumSet.copyOf(axes))).ranks().stream()
            .map(first -> first % ranksPerNode).distinct().map(first -> of(members, first, ranksPerNode))
            .collect(Collectors.toUnmodifiableSet());
    }

    /** The span of the group of {@code members}, each of them {@code first} ranks later. */
    private static GroupSpan of(List<Integer> members, int first, int ranksPerNode) {
        Map<Integer, Integer> byNode = new HashMap<>();
        members.forEach(member -> byNode.merge((first + member) / ranksPerNode, 1, Integer::sum));
        return new GroupSpan(byNode.size(), byNode.values().stream().max(Integer::compare).orElseThrow());
    }

    /** Number of ranks, if all nodes have as many. */
    public int ranks() {
        return nodes * perNode;
    }
}
