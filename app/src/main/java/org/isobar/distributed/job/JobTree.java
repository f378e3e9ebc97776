package org.isobar.distributed.job;

import java.util.stream.IntStream;

/**
 * The tree of a job's ranks. Rank 0 is its root, and each rank has up to {@link #FAN_OUT} children. Addresses,
 * heartbeats and messages go along its edges, so that no rank exchanges them with more than 17 others; 16,384 ranks
 * have a tree of four levels below rank 0. In a job of up to 17 ranks, all others are children of rank 0.
 */
final class JobTree {
    /** Largest number of children of a rank. */
    static final int FAN_OUT = 16;

    private JobTree() { }

    /** The parent of a rank other than 0. */
    static int parent(int rank) {
        return (rank - 1) / FAN_OUT;
    }

    /** The children of a rank, in ascending order. */
    static int[] children(int rank, int worldSize) {
        long first = (long) FAN_OUT * rank + 1;
        return first >= worldSize ? new int[0]
            : IntStream.range((int) first, (int) Math.min(first + FAN_OUT, worldSize)).toArray();
    }
}
