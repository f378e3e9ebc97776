package org.isobar.checkpoint;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;

/** Distributes slices that several ranks hold among these ranks, so that each slice is written once. */
public final class SliceAssignment {
    private SliceAssignment() { }

    /**
     * The items that one of {@code n} ranks writes: the consecutive items whose middle byte lies in this rank's n-th of
     * all bytes. Each item is assigned to exactly one rank. No rank's share exceeds an n-th of the bytes by more than
     * its largest item.
     *
     * @param items the items; the same list on each rank
     * @param bytes size of an item, positive
     * @param ranks number of ranks, n
     * @param rank  this rank, from 0
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

    /**
     * The items that one of {@code n} ranks writes, if each share should have at least {@code least} bytes: if there is
     * less for each rank, only some ranks write, which are evenly distributed over all.
     */
    public static <T> List<T> assign(List<T> items, ToLongFunction<? super T> bytes, int ranks, int rank, long least) {
        long total = items.stream().mapToLong(bytes).sum();
        int writers = (int) Math.clamp(total / least, 1L, ranks);
        int writer = (int) Math.ceilDiv((long) rank * writers, (long) ranks);
        return (long) writer * ranks / writers == rank ? assign(items, bytes, writers, writer) : List.of();
    }
}
