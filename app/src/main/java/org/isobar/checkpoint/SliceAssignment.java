package org.isobar.checkpoint;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;

/** How ranks that hold the same slices share the writing of them. */
public final class SliceAssignment {
    private SliceAssignment() { }

    /**
     * The share of one rank: consecutive items, those whose middle byte falls into its n-th of all bytes. The shares of
     * all ranks are disjoint, hold every item, and none exceeds an n-th of the bytes by more than its largest item.
     *
     * @param items the same list on each rank
     * @param bytes size of an item, positive
     * @param ranks n, how many share the items
     * @param rank  which of them, from 0
     */
    public static <T> List<T> assign(List<T> items, ToLongFunction<? super T> bytes, int ranks, int rank) {
        if (rank < 0 || rank >= ranks) {
            throw new IllegalArgumentException("rank " + rank + " of " + ranks);
        }
        long total = items.stream().mapToLong(bytes).sum();
        List<T> share = new ArrayList<>();
        long before = 0;
        for (T item : items) {
            long size = bytes.applyAsLong(item);
            if (Math.multiplyExact(2 * before + size, (long) ranks) / (2 * total) == rank) {
                share.add(item);
            }
            before += size;
        }
        return share;
    }
}
