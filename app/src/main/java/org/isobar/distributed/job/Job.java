package org.isobar.distributed.job;

import java.io.Closeable;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.isobar.device.DeviceException;
import org.isobar.distributed.CommunicationException;

/**
 * This process as a member of a job: opens connections to the other ranks and reports failures of the job. Created by
 * {@link Rendezvous}.
 */
public final class Job implements Closeable {
    private final RankEnvironment environment;
    private final JobSecret secret;
    private final TimeLimits limits;
    private final List<InetSocketAddress> addresses;
    private final IncomingConnections incoming;
    private final FailureDetector watch;
    private final Map<String, Integer> connected = new ConcurrentHashMap<>(); // number of calls by peer and purpose
    private final Map<String, Integer> accepted = new ConcurrentHashMap<>();

    /** A job whose ranks listen at {@code addresses}. Takes over {@code incoming} and {@code connections}. */
    Job(RankEnvironment environment, JobSecret secret, TimeLimits limits, List<InetSocketAddress> addresses,
        IncomingConnections incoming, Map<Integer, Connection> connections) {
        this.environment = environment;
        this.secret = secret;
        this.limits = limits;
        this.addresses = List.copyOf(addresses);
        this.incoming = incoming;
        watch = new FailureDetector(environment.rank(), connections, limits);
    }

    /** This process's rank. */
    public int rank() {
        return environment.rank();
    }

    /** Number of ranks. */
    public int worldSize() {
        return environment.worldSize();
    }

    /** The time limits of this job. */
    public TimeLimits limits() {
        return limits;
    }

    /** The failure detector of this job. */
    public FailureDetector watch() {
        return watch;
    }

    /**
     * Opens a connection to {@code peer}, which calls {@link #accept} with the same purpose. The channel is blocking.
     * The caller closes it.
     *
     * @param purpose distinguishes the connections of two ranks; with equal purposes, the n-th connect matches the n-th
     *                accept
     */
    public SocketChannel connect(int peer, String purpose) throws IOException {
        Connection connection = open(addresses.get(peer));
        try {
            connection.out().writeInt(rank());
            connection.out().writeUTF(purpose);
            connection.out().writeInt(connected.merge(peer + purpose, 1, Integer::sum));
            connection.out().flush();
            return connection.channel();
        } catch (IOException lost) {
            connection.close();
            throw lost;
        }
    }

    /** Retries, because the listener may evict a connection before it is authenticated. */
    private Connection open(InetSocketAddress address) throws IOException {
        long deadline = System.nanoTime() + limits.failure().toNanos();
        while (true) {
            try {
                return Connection.open(address, secret, limits.failure());
            } catch (Handshake.RefusedException | ConnectException permanent) {
                throw permanent;
            } catch (IOException evicted) {
                if (System.nanoTime() > deadline || watch.failure().isPresent()
                    || Thread.currentThread().isInterrupted()) { // further attempts would fail at once
                    throw evicted;
                }
                FailureDetector.pause(limits.heartbeatInterval());
            }
        }
    }

    /**
     * Waits for the connection that {@code peer} opens with {@link #connect}.
     *
     * @throws CommunicationException if the job fails before the connection arrives, or it does not arrive in time
     */
    public SocketChannel accept(int peer, String purpose) {
        CompletableFuture<SocketChannel> connection = incoming.of(new ConnectionKey(peer, purpose,
            accepted.merge(peer + purpose, 1, Integer::sum)));
        watch.onFailure(() -> watch.failure().ifPresent(
            reason -> connection.completeExceptionally(new CommunicationException("rank " + rank() + ": " + reason))));
        try {
            return connection.get(limits.stall().toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException failed) {
            throw new CommunicationException(failed.getCause().getMessage(), failed);
        } catch (TimeoutException timeout) {
            throw new CommunicationException("rank " + rank() + ": rank " + peer + " did not connect for '" + purpose
                + "' within " + limits.stall().toSeconds() + " s", timeout);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new CommunicationException("rank " + rank() + " was interrupted while it waited for rank " + peer,
                interrupted);
        }
    }

    /**
     * Handles a failure of this rank's device. If the job has failed already, that is the cause; otherwise reports the
     * device's failure to the other ranks.
     *
     * @return the exception to end with: the job's failure if there is one, otherwise {@code broken}
     */
    public RuntimeException reportFailure(DeviceException broken) {
        Optional<CommunicationException> cause = rootCause(broken);
        if (cause.isPresent()) {
            return cause.get();
        }
        watch.fail("rank " + rank() + ": " + broken.getMessage());
        return broken;
    }

    /**
     * The job's failure, if there is one, as the cause of a device failure: a lost peer, or one that has issued a
     * different operation, can make a device fail. Waits a short time for a report that may be on its way.
     */
    public Optional<CommunicationException> rootCause(DeviceException broken) {
        Optional<String> known = worldSize() > 1 ? watch.imminentFailure() : Optional.empty();
        return known.map(reason -> new CommunicationException("rank " + rank() + ": " + reason, broken));
    }

    /** Leaves the job. Close communicators first. Rank 0 waits, within the time limits, until the others have left. */
    @Override
    public void close() {
        watch.close();
        incoming.close();
    }

    /** Listens for connections from peers, and keeps those that have arrived. */
    static final class IncomingConnections implements Closeable {
        private final Map<ConnectionKey, CompletableFuture<SocketChannel>> channels = new ConcurrentHashMap<>();
        private AuthenticatedListener listener;

        /** Starts to listen. */
        void listen(InetAddress address, JobSecret secret) throws IOException {
            listener = AuthenticatedListener.onFreePort(address, secret, this::accepted);
        }

        InetSocketAddress address() throws IOException {
            return listener.address();
        }

        private void accepted(Connection connection) throws IOException {
            ConnectionKey key = new ConnectionKey(connection.in().readInt(), connection.in().readUTF(),
                connection.in().readInt());
            connection.unlimited();
            if (!of(key).complete(connection.channel())) { // the job has failed and accept has thrown
                connection.close();
            }
        }

        CompletableFuture<SocketChannel> of(ConnectionKey key) {
            return channels.computeIfAbsent(key, any -> new CompletableFuture<>());
        }

        /** Stops listening and closes every connection that has arrived. */
        @Override
        public void close() {
            if (listener != null) {
                listener.close();
            }
            channels.values().forEach(channel -> channel.thenAccept(Connection::closeQuietly));
        }
    }

    private record ConnectionKey(int rank, String purpose, int count) { }
}
