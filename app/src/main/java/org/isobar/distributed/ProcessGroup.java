package org.isobar.distributed;

import java.util.List;
import java.util.stream.Collectors;

/**
 * A group of ranks that communicate, from the point of view of one member. A job can have ten thousand ranks, so index
 * and names are computed once.
 */
public final class ProcessGroup {
    private static final int MAX_LISTED = 16;

    private final String name;
    private final List<Integer> ranks;
    private final int rank;
    private final int index;
    private final String id;
    private final String text;

    /**
     * A group.
     *
     * @param name  the grid axes of the group: "tp", "dp-cp"
     * @param ranks the members as ranks of the job, in the order in which their parts are concatenated
     * @param rank  this member; one of {@code ranks}
     */
    public ProcessGroup(String name, List<Integer> ranks, int rank) {
        this.name = name;
        this.ranks = List.copyOf(ranks);
        this.rank = rank;
        index = this.ranks.indexOf(rank);
        if (index < 0) {
            throw new IllegalArgumentException("rank " + rank + " is not in group " + name + " " + ranks);
        }
        id = name + " " + this.ranks.getFirst() + "/" + size() + "/" + Long.toHexString(hash(this.ranks));
        text = "group " + name + " " + listed(this.ranks);
    }

    /** FNV-1a over the ranks, with 64 bits. */
    private static long hash(List<Integer> ranks) {
        long hash = 0xcbf29ce484222325L;
        for (int rank : ranks) {
            hash = (hash ^ rank) * 0x100000001b3L;
        }
        return hash;
    }

    private static String listed(List<Integer> ranks) {
        return ranks.size() <= MAX_LISTED ? ranks.toString() : ranks.stream().limit(MAX_LISTED - 1)
            .map(String::valueOf).collect(Collectors.joining(", ", "[", ", ... ")) + ranks.getLast() + ", "
            + ranks.size() + " ranks]";
    }

    /** The grid axes of the group: "tp", "dp-cp". */
    public String name() {
        return name;
    }

    /** The members as ranks of the job, in the order in which their parts are concatenated. */
    public List<Integer> ranks() {
        return ranks;
    }

    /** This member. */
    public int rank() {
        return rank;
    }

    /** Number of members. */
    public int size() {
        return ranks.size();
    }

    /** This rank's index among the members, from 0. */
    public int index() {
        return index;
    }

    /** The job's rank of the member at {@code index}, taken modulo the size, as in a ring. */
    public int rankAt(int index) {
        return ranks.get(Math.floorMod(index, ranks.size()));
    }

    /** A short text that is equal on all members and differs between groups of a job, for connections. */
    public String id() {
        return id;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ProcessGroup group && rank == group.rank && name.equals(group.name)
            && ranks.equals(group.ranks);
    }

    @Override
    public int hashCode() {
        return id.hashCode() + rank;
    }

    /** Name and ranks, for messages: {@code group dp [0, 2]}. Of more than 16 ranks, some are listed. */
    @Override
    public String toString() {
        return text;
    }
}
