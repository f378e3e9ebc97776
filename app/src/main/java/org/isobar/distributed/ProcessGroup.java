package org.isobar.distributed;

import java.util.List;

/**
 * Ranks that communicate, seen from one of them.
 *
 * @param name  the axes that it runs along: "tp", "dp-cp"
 * @param ranks the members, as ranks of the job, in the order in which results are laid out
 * @param rank  the member that this is; one of {@code ranks}
 */
public record ProcessGroup(String name, List<Integer> ranks, int rank) {
    /** Checks that the group has this rank as its member. */
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

    /** This rank's place among the members, from 0. */
    public int index() {
        return ranks.indexOf(rank);
    }

    /** The job's rank at place {@code index}, which may run past either end: the group is a ring. */
    public int rankAt(int index) {
        return ranks.get(Math.floorMod(index, ranks.size()));
    }

    @Override
    public String toString() {
        return "group " + name + " " + ranks;
    }
}
