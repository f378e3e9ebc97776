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
 * The socket connections of one rank to the others of its group: those of a ring, to the next rank and from the
 * previous one, and one to each peer of sends and receives.
 */
final class GroupConnections implements Closeable {
    private final Job job;
    private final ProcessGroup group;
    private final Consumer<IOException> onBroken;
    private final SocketWriter next;
    private final SocketReader previous;
    private final Map<Integer, Pair> pairs = new ConcurrentHashMap<>();
    private boolean closed;

    /** Writer and reader of the connection to one peer. */
    record Pair(SocketWriter out, SocketReader in) { }

    /**
     * Connects this rank with its neighbours in the ring. All ranks of the group call this at the same time.
     *
     * @param onBroken receives a failure to send to a rank
     * @throws CommunicationException if a neighbour cannot be reached; the job has failed then
     */
    GroupConnections(Job job, ProcessGroup group, Consumer<IOException> onBroken) {
        this.job = job;
        this.group = group;
        this.onBroken = onBroken;
        String purpose = "ring of " + group.id();
        try {
            SocketChannel channel = job.connect(group.rankAt(group.index() + 1), purpose);
            previous = reader(acceptPrevious(purpose, channel), group.index() - 1);
            channel.configureBlocking(false); // nothing is read from it
            next = writer(channel, group.index() + 1);
        } catch (IOException unreachable) {
            String reason = "rank " + group.rank() + ", " + group + ": cannot connect to rank "
                + group.rankAt(group.index() + 1) + " (" + unreachable.getMessage() + ")";
            String failure = job.watch().imminentFailure().orElse(reason);
            job.watch().fail(failure);
            throw new CommunicationException(failure, unreachable);
        }
    }

    /** Accepts the connection from the previous rank. If it does not arrive, closes {@code toNext}. */
    private SocketChannel acceptPrevious(String purpose, SocketChannel toNext) throws IOException {
        try {
            return job.accept(group.rankAt(group.index() - 1), purpose);
        } catch (CommunicationException lost) {
            job.watch().fail(lost.getMessage()); // no effect if the job has failed already
            toNext.close();
            throw lost;
        }
    }

    private SocketWriter writer(SocketChannel channel, int peer) throws IOException {
        return new SocketWriter(channel, group.rankAt(peer), "isobar-" + group.name() + "-" + group.rank() + "-out",
            onBroken);
    }

    private SocketReader reader(SocketChannel channel, int peer) {
        return new SocketReader(channel, group.rankAt(peer), job.watch()::progressed);
    }

    /** The connection to the next rank of the ring. */
    SocketWriter next() {
        return next;
    }

    /** The connection from the previous rank of the ring. */
    SocketReader previous() {
        return previous;
    }

    /** The connection to the rank with index {@code peer}. On first use, the lower of the two ranks connects. */
    Pair pair(int peer) throws IOException {
        Pair known = pairs.get(peer);
        if (known != null) {
            return known;
        }
        int rank = group.rankAt(peer);
        String purpose = "pair of " + group.id();
        SocketChannel channel = group.index() < peer ? job.connect(rank, purpose) : job.accept(rank, purpose);
        Pair pair = new Pair(writer(channel, peer), reader(channel, peer));
        synchronized (pairs) {
            pairs.put(peer, pair);
            if (closed) {
                pair.out().close();
            }
        }
        return pair;
    }

    /** Whether all queued data has been written. */
    boolean idle() {
        return next.idle() && pairs.values().stream().allMatch(pair -> pair.out().idle());
    }

    /** Closes all connections. Unsent data is lost. */
    @Override
    public void close() {
        next.close();
        previous.close();
        synchronized (pairs) {
            closed = true;
            pairs.values().forEach(pair -> pair.out().close());
        }
    }

    /** After {@link #close}, waits until no thread reads from tensors any more. */
    void join() throws InterruptedException {
        next.join();
        for (Pair pair : pairs.values()) {
            pair.out().join();
        }
    }
}
