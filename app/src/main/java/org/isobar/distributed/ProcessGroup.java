package org.isobar.distributed;

import java.util.List;

/**
 * A group of ranks that communicate, from the point of view of one member.
 *
 * @param name  the grid axes of the group: "tp", "dp-cp"
 * @param ranks the members as ranks of the job, in the order in which their parts are concatenated
 * @param rank  this member; one of {@code ranks}
 */
public record ProcessGroup(String name, List<Integer> ranks, int rank) {
    /** Checks that the rank is a member of the group. */
    public ProcessGroup {
        ranks = List.copyOf(ranks);
        if (!ranks.contains(rank)) {
            throw new IllegalArgumentException("rank " + rank + " is not in group " + name + " " + ranks);
        }
    }

    /** Number of members. */
    public int size() {
        return ranks.size();
    }

    /** This rank's index among the members, from 0. */
    public int index() {
        return ranks.indexOf(rank);
    }

    /** The job's rank of the member at {@code index}, taken modulo the size, as in a ring. */
    public int rankAt(int index) {
        return ranks.get(Math.floorMod(index, ranks.size()));
    }

    @Override
    public String toString() {
        return "group " + name + " " + ranks;
    }
}
