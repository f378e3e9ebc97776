package org.isobar.backend.host;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.ProcessGroup;

/**
 * The state that ranks which are threads of one process share: the exchanges of their operations. There is one hub per
 * job. A rank that stops issuing operations is detected after a time limit; one that closes its communicator, at once.
 */
public final class InProcessHub {
    private final Duration limit;
    private final Map<ExchangeKey, InProcessExchange> exchanges = new ConcurrentHashMap<>();
    private final Set<HostCommunicator> communicators = ConcurrentHashMap.newKeySet();
    private final Set<Member> departed = ConcurrentHashMap.newKeySet();
    private final ReadWriteLock memory = new ReentrantReadWriteLock();

    /** A hub whose ranks wait at most {@code limit} for each other in one operation. */
    public InProcessHub(Duration limit) {
        this.limit = limit;
    }

    /** The longest that a rank waits for another in one operation. */
    Duration limit() {
        return limit;
    }

    /** Adds a communicator of the job, which {@link #fail} stops. */
    void add(HostCommunicator communicator) {
        communicators.add(communicator);
    }

    /** Stops all communicators of the job. */
    void fail(String reason) {
        communicators.forEach(communicator -> communicator.stop(reason));
    }

    /** Removes a communicator. Its rank takes part in no further exchange of its group. */
    void leave(HostCommunicator communicator) {
        communicators.remove(communicator);
        List<Integer> ranks = communicator.group().ranks();
        departed.add(new Member(ranks, communicator.group().index()));
        exchanges.forEach((key, exchange) -> {
            if (key.ranks().equals(ranks)) {
                exchange.memberLeft();
            }
        });
        memory.writeLock().lock(); // waits for the present readers; later ones check departed first
        memory.writeLock().unlock();
    }

    /**
     * Runs {@code access}, which accesses the memory of the ranks with indices {@code peers} of the group. None of them
     * can leave until it returns.
     *
     * @throws CommunicationException if one of them has left
     */
    void access(ProcessGroup group, List<Integer> peers, Runnable access) {
        memory.readLock().lock();
        try {
            for (int index : peers) {
                if (departed.contains(new Member(group.ranks(), index))) {
                    throw new CommunicationException("rank " + group.rankAt(index) + " left the group");
                }
            }
            access.run();
        } finally {
            memory.readLock().unlock();
        }
    }

    /** Adds the work of the rank with index {@code index} to an exchange. The first rank creates the exchange. */
    InProcessExchange join(ExchangeKey key, int index, HostWork work) {
        InProcessExchange exchange = exchanges.computeIfAbsent(key, any -> new InProcessExchange(key.expected(),
            member -> departed.contains(new Member(key.ranks(), member))));
        if (exchange.add(index, work)) {
            exchanges.remove(key);
        }
        return exchange;
    }

    /**
     * Identifies an exchange.
     *
     * @param ranks    the ranks of the group
     * @param expected indices in the group of the ranks that take part; for a send, sender and receiver
     * @param number   sequence number of the operation
     * @param phase    phase of the operation
     */
    public record ExchangeKey(List<Integer> ranks, List<Integer> expected, long number, int phase) { }

    private record Member(List<Integer> ranks, int index) { }
}
