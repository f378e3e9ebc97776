package org.isobar.distributed.job;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

import org.isobar.distributed.RankMessages.Urgency;

/** The reports of a rank and of those below it in the {@link JobTree}, for one topic. */
final class TreeReports {
    private final int expected;
    private final SortedMap<Integer, byte[]> arrived = new TreeMap<>();
    private final Set<Integer> taken = new HashSet<>();
    private final CompletableFuture<Boolean> enough = new CompletableFuture<>();
    private boolean started;

    /** What a new report changes. */
    enum Change { FIRST, INCOMPLETE, URGENT, COMPLETE }

    /** The reports that {@code rank} passes on, or as rank 0 receives. */
    TreeReports(int rank, int worldSize) {
        expected = subtree(rank, worldSize) - (rank == 0 ? 1 : 0);
    }

    /** Number of ranks of the subtree of {@code rank}. */
    private static int subtree(int rank, int worldSize) {
        int size = 0;
        long first = rank;
        long count = 1;
        while (first < worldSize) {
            size += (int) Math.min(count, worldSize - first);
            first = first * JobTree.FAN_OUT + 1;
            count *= JobTree.FAN_OUT;
        }
        return size;
    }

    synchronized Change add(Map<Integer, byte[]> reports, Urgency urgency) {
        boolean first = !started;
        started = true;
        arrived.putAll(reports);
        boolean complete = arrived.size() == expected;
        if (complete || urgency == Urgency.URGENT) {
            enough.complete(true);
        }
        return complete ? Change.COMPLETE : urgency == Urgency.URGENT ? Change.URGENT : first ? Change.FIRST
            : Change.INCOMPLETE;
    }

    /** Completed when all reports or an urgent one have arrived. */
    CompletableFuture<Boolean> enough() {
        return enough;
    }

    /** The reports that have arrived. */
    synchronized SortedMap<Integer, byte[]> all() {
        return new TreeMap<>(arrived);
    }

    /** The reports that this has not returned yet. */
    synchronized Map<Integer, byte[]> take() {
        Map<Integer, byte[]> fresh = new TreeMap<>(arrived);
        fresh.keySet().removeAll(taken);
        taken.addAll(fresh.keySet());
        return fresh;
    }
}
