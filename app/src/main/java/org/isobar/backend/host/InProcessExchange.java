package org.isobar.backend.host;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.ProcessGroup;

/** A single exchange between ranks that are threads: each adds its work and receives the works of the others. */
final class InProcessExchange {
    private final List<Integer> expected;
    private final IntPredicate hasLeft;
    private final Map<Integer, HostWork> present = new LinkedHashMap<>();

    /**
     * An exchange between the ranks with indices {@code expected} in the group.
     *
     * @param hasLeft whether the rank with an index has left the group
     */
    InProcessExchange(List<Integer> expected, IntPredicate hasLeft) {
        this.expected = expected;
        this.hasLeft = hasLeft;
    }

    /** Adds the work of the rank with index {@code index} in the group. Returns whether all are present. */
    synchronized boolean add(int index, HostWork work) {
        present.put(index, work);
        notifyAll();
        return present.size() == expected.size();
    }

    /** Wakes the waiting ranks, because a member has left the group. */
    synchronized void memberLeft() {
        notifyAll();
    }

    /**
     * Waits until all ranks are present.
     *
     * @return the works of all, by index in the group
     * @throws CommunicationException if a rank is missing after {@code limit} or has left
     */
    synchronized Map<Integer, HostWork> await(Duration limit, ProcessGroup group) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        while (present.size() < expected.size()) {
            List<Integer> absent = expected.stream().filter(index -> !present.containsKey(index)).toList();
            long wait = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (absent.stream().anyMatch(hasLeft::test)) {
                throw new CommunicationException(names(absent.stream().filter(hasLeft::test).toList(), group)
                    + " left the group");
            }
            if (wait <= 0) {
                throw new CommunicationException(names(absent, group) + " did not issue the operation within "
                    + limit.toMillis()
                    + " ms");
            }
            wait(wait);
        }
        return present;
    }

    private static String names(List<Integer> indices, ProcessGroup group) {
        List<Integer> ranks = indices.stream().map(group::rankAt).sorted().toList();
        return ranks.size() == 1 ? "rank " + ranks.getFirst() : "ranks " + ranks;
    }
}
