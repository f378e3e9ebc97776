package org.isobar.backend.host;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.ProcessGroup;

/** Ranks of a group that come together once, each with its part of an operation. */
final class InProcessExchange {
    private final List<Integer> expected;
    private final IntPredicate left;
    private final Map<Integer, HostWork> present = new LinkedHashMap<>();

    /** Awaits the ranks at places {@code expected} of the group; {@code left} knows those that will not come. */
    InProcessExchange(List<Integer> expected, IntPredicate left) {
        this.expected = expected;
        this.left = left;
    }

    /** The rank at place {@code index} of the group is here. Returns whether all are. */
    synchronized boolean sit(int index, HostWork work) {
        present.put(index, work);
        notifyAll();
        return present.size() == expected.size();
    }

    /** Somebody may have left. */
    synchronized void lookAround() {
        notifyAll();
    }

    /**
     * Waits until all are here.
     *
     * @return their operations, by their places in the group
     * @throws CommunicationException if one is missing after {@code limit}, or has left
     */
    synchronized Map<Integer, HostWork> await(Duration limit, ProcessGroup group) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        while (present.size() < expected.size()) {
            List<Integer> absent = expected.stream().filter(index -> !present.containsKey(index)).toList();
            long wait = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (absent.stream().anyMatch(left::test)) {
                throw new CommunicationException(names(absent.stream().filter(left::test).toList(), group)
                    + " left the group");
            }
            if (wait <= 0) {
                throw new CommunicationException(names(absent, group) + " did not come within " + limit.toMillis()
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
