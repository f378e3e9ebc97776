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
 * Where ranks that are threads of one process meet: one for each job, shared by its ranks. A rank whose thread stops
 * calling is missed after a time limit; one that closes its communicator, at once.
 */
public final class InProcessHub {
    private final Duration limit;
    private final Map<Place, InProcessExchange> meetings = new ConcurrentHashMap<>();
    private final Set<HostCommunicator> communicators = ConcurrentHashMap.newKeySet();
    private final Set<Member> left = ConcurrentHashMap.newKeySet();
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

    /** Ends all communicators of the job. */
    void fail(String reason) {
        communicators.forEach(communicator -> communicator.stop(reason));
    }

    /** The rank will come to no further meeting of the group. */
    void leave(HostCommunicator communicator) {
        communicators.remove(communicator);
        List<Integer> ranks = communicator.group().ranks();
        left.add(new Member(ranks, communicator.group().index()));
        meetings.forEach((place, meeting) -> {
            if (place.ranks().equals(ranks)) {
                meeting.lookAround();
            }
        });
        memory.writeLock().lock(); // once all that read now are done, nobody reads from the one that has left
        memory.writeLock().unlock();
    }

    /** Lets a rank access the memory of those at places {@code peers} of its group, who stay meanwhile. */
    void access(ProcessGroup group, List<Integer> peers, Runnable access) {
        memory.readLock().lock();
        try {
            for (int index : peers) {
                if (left.contains(new Member(group.ranks(), index))) {
                    throw new CommunicationException("rank " + group.rankAt(index) + " left the group");
                }
            }
            access.run();
        } finally {
            memory.readLock().unlock();
        }
    }

    /** The meeting at {@code place}, which the first to come there begins; the last one ends it. */
    InProcessExchange arrive(Place place, int index, HostWork work) {
        InProcessExchange meeting = meetings.computeIfAbsent(place, any -> new InProcessExchange(place.expected(),
            member -> left.contains(new Member(place.ranks(), member))));
        if (meeting.sit(index, work)) {
            meetings.remove(place);
        }
        return meeting;
    }

    /**
     * Where ranks meet.
     *
     * @param ranks    the group
     * @param expected those that come, by their place in the group; two in order for a tensor sent from one to another
     * @param number   of the operation
     * @param phase    of the operation
     */
    public record Place(List<Integer> ranks, List<Integer> expected, long number, int phase) { }

    private record Member(List<Integer> ranks, int index) { }
}
