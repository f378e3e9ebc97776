package org.isobar.backend.host;

import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.job.Job;

/**
 * The connections of one rank with the others of its group: those of a ring, to the next rank and from the previous
 * one, and one with each rank that it exchanges something with by itself.
 */
final class GroupConnections implements Closeable {
    private final Job job;
    private final ProcessGroup group;
    private final Consumer<IOException> broken;
    private final SocketWriter next;
    private final SocketReader previous;
    private final Map<Integer, Pair> pairs = new ConcurrentHashMap<>();
    private boolean closed;

    /** Both ends of the connection with one other rank. */
    record Pair(SocketWriter out, SocketReader in) { }

    /**
     * Connects this rank with its neighbours, which do the same.
     *
     * @param broken hears that nothing can be sent to a rank any more
     * @throws CommunicationException if a neighbour cannot be reached; the job has failed then
     */
    GroupConnections(Job job, ProcessGroup group, Consumer<IOException> broken) {
        this.job = job;
        this.group = group;
        this.broken = broken;
        String purpose = "ring of " + group;
        try {
            SocketChannel channel = job.connect(group.rankAt(group.index() + 1), purpose);
            previous = inlet(previous(purpose, channel), group.index() - 1);
            channel.configureBlocking(false); // nothing is read from it
            next = outlet(channel, group.index() + 1);
        } catch (IOException unreachable) {
            String reason = "rank " + group.rank() + ", " + group + ": cannot connect to rank "
                + group.rankAt(group.index() + 1) + " (" + unreachable.getMessage() + ")";
            String verdict = job.watch().imminentFailure().orElse(reason);
            job.watch().fail(verdict);
            throw new CommunicationException(verdict, unreachable);
        }
    }

    /** The connection from the rank before; if it does not come, that to the next is closed. */
    private SocketChannel previous(String purpose, SocketChannel toNext) throws IOException {
        try {
            return job.accept(group.rankAt(group.index() - 1), purpose);
        } catch (CommunicationException lost) {
            job.watch().fail(lost.getMessage()); // unless it says why the job has failed
            toNext.close();
            throw lost;
        }
    }

    private SocketWriter outlet(SocketChannel channel, int peer) throws IOException {
        return new SocketWriter(channel, group.rankAt(peer), "isobar-" + group.name() + "-" + group.rank() + "-out",
            broken);
    }

    private SocketReader inlet(SocketChannel channel, int peer) {
        return new SocketReader(channel, group.rankAt(peer), job.watch()::progressed);
    }

    /** To the next rank of the ring. */
    SocketWriter next() {
        return next;
    }

    /** From the previous rank of the ring. */
    SocketReader previous() {
        return previous;
    }

    /** The connection with the rank at place {@code peer}, opened by the lower of the two when first used. */
    Pair pair(int peer) throws IOException {
        Pair known = pairs.get(peer);
        if (known != null) {
            return known;
        }
        int rank = group.rankAt(peer);
        String purpose = "pair of " + group;
        SocketChannel channel = group.index() < peer ? job.connect(rank, purpose) : job.accept(rank, purpose);
        Pair pair = new Pair(outlet(channel, peer), inlet(channel, peer));
        synchronized (pairs) {
            pairs.put(peer, pair);
            if (closed) {
                pair.out().close();
            }
        }
        return pair;
    }

    /** Whether all that was to be sent has left. */
    boolean idle() {
        return next.idle() && pairs.values().stream().allMatch(pair -> pair.out().idle());
    }

    /** Ends all connections; what has not left is lost. */
    @Override
    public void close() {
        next.close();
        previous.close();
        synchronized (pairs) {
            closed = true;
            pairs.values().forEach(pair -> pair.out().close());
        }
    }

    /** After {@link #close}: returns when nothing is read from memory any more. */
    void join() throws InterruptedException {
        next.join();
        for (Pair pair : pairs.values()) {
            pair.out().join();
        }
    }
}
