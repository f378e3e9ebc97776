package org.isobar.backend.host;

import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.job.Job;

/**
 * The socket connections of one rank to the others of its group: those of a ring, to the next rank and from the
 * previous one, one to each peer of sends and receives, and one to each partner in all-reduces of a large group.
 */
final class GroupConnections implements GroupLinks, Closeable {
    private final Job job;
    private final ProcessGroup group;
    private final boolean polled;
    private final Consumer<IOException> onBroken;
    private final SocketWriter next;
    private final SocketReader previous;
    private final Map<PairKey, Pair> pairs = new ConcurrentHashMap<>();
    private boolean closed;

    /** Writer and reader of the connection to one peer. */
    record Pair(SocketWriter out, SocketReader in) implements Link {
        private void close() {
            out.close();
            in.close();
        }
    }

    /** A purpose of connections to single peers: sends and collectives may overtake each other. */
    private enum Purpose { PAIR, PARTNER }

    private record PairKey(Purpose purpose, int peer) { }

    /**
     * Connects this rank with its neighbours in the ring. All ranks of the group call this at the same time.
     *
     * @param polled   whether readers poll before they sleep, see {@link SocketReader}
     * @param onBroken receives a failure to send to a rank
     * @throws CommunicationException if a neighbour cannot be reached; the job has failed then
     */
    GroupConnections(Job job, ProcessGroup group, boolean polled, Consumer<IOException> onBroken) {
        this.job = job;
        this.group = group;
        this.polled = polled;
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

    private SocketReader reader(SocketChannel channel, int peer) throws IOException {
        channel.configureBlocking(!polled);
        return new SocketReader(channel, group.rankAt(peer), job.watch()::progressed);
    }

    @Override
    public SocketWriter next() {
        return next;
    }

    @Override
    public SocketReader previous() {
        return previous;
    }

    @Override
    public Pair partner(int peer) throws IOException {
        return open(new PairKey(Purpose.PARTNER, peer));
    }

    /** The connection for sends to and receives from the rank with index {@code peer}. Opened on first use. */
    Pair pair(int peer) throws IOException {
        return open(new PairKey(Purpose.PAIR, peer));
    }

    /** Returns the connection. On first use, the lower of the two ranks connects. */
    private Pair open(PairKey key) throws IOException {
        Pair known = pairs.get(key);
        if (known != null) {
            return known;
        }
        int peer = key.peer();
        int rank = group.rankAt(peer);
        String purpose = key.purpose().name().toLowerCase(Locale.ROOT) + " of " + group.id();
        SocketChannel channel = group.index() < peer ? job.connect(rank, purpose) : job.accept(rank, purpose);
        SocketReader in = reader(channel, peer);
        Pair pair = new Pair(writer(channel, peer), in);
        synchronized (pairs) {
            pairs.put(key, pair);
            if (closed) {
                pair.close();
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
            pairs.values().forEach(Pair::close);
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
