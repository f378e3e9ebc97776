package org.isobar.backend.host;

/**
 * How an all-reduce by recursive halving divides its elements among the ranks of a group. Let {@code p} be the largest
 * power of two that is at most the number of ranks. The {@code k} ranks from index {@code p} on only add their values
 * to those of the first {@code k} ranks. In the step with distance {@code p / 2}, then {@code p / 4} and so on to 1, a
 * rank exchanges values with the rank at that distance, and keeps one half of the elements that it still has.
 *
 * @param ranks    number of ranks, at least 2
 * @param elements number of elements of the tensor
 */
record RecursiveHalving(int ranks, long elements) {
    /** The largest power of two that is at most the number of ranks. */
    int power() {
        return Integer.highestOneBit(ranks);
    }

    /** The first element that the rank with an index below {@link #power} keeps in the step with this distance. */
    long start(int index, int distance) {
        return bound(index, distance, 0);
    }

    /** The element after the last one that this rank keeps in the step with this distance. */
    long end(int index, int distance) {
        return bound(index, distance, 1);
    }

    private long bound(int index, int distance, int side) {
        long start = 0;
        long end = elements;
        for (int step = power() / 2; step >= distance; step /= 2) {
            long middle = start + Math.ceilDiv(end - start, 2);
            if ((index & step) == 0) {
                end = middle;
            } else {
                start = middle;
            }
        }
        return side == 0 ? start : end;
    }

    /** Number of elements whose sum each rank completes. They are consecutive in the order of ranks. */
    long[] sizes() {
        long[] sizes = new long[ranks];
        for (int index = 0; index < power(); index++) {
            sizes[index] = end(index, 1) - start(index, 1);
        }
        return sizes;
    }
}
