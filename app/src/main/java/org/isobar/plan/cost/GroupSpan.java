package org.isobar.plan.cost;

import java.util.List;

import org.isobar.distributed.ProcessGroup;

/**
 * How a group lies on nodes.
 *
 * @param nodes   nodes that have a rank of the group
 * @param perNode ranks of the group on the node that has most
 */
public record GroupSpan(int nodes, int perNode) {
    /** The span of a group of ranks that fill nodes in order. */
    public static GroupSpan of(ProcessGroup group, int ranksPerNode) {
        return of(group.ranks(), ranksPerNode);
    }

    private static GroupSpan of(List<Integer> ranks, int ranksPerNode) {
        int nodes = 0;
        int most = 0;
        int here = 0;
        int node = -1;
        for (int rank : ranks.stream().sorted().toList()) {
            if (rank / ranksPerNode == node) {
                here++;
            } else {
                node = rank / ranksPerNode;
                nodes++;
                here = 1;
            }
            most = Math.max(most, here);
        }
        return new GroupSpan(nodes, most);
    }

    /** Number of ranks, if all nodes have as many. */
    public int ranks() {
        return nodes * perNode;
    }
}
