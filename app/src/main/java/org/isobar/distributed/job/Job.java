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
 * This process as a member of a job whose ranks have met: it can reach each of them, and learns when one is lost. Made
 * by {@link Rendezvous}.
 */
public final class Job implements Closeable {
    private final RankEnvironment environment;
    private final JobSecret secret;
    private final TimeLimits limits;
    private final List<InetSocketAddress> addresses;
    private final Arrivals arrivals;
    private final FailureDetector watch;
    private final Map<String, Integer> connected = new ConcurrentHashMap<>(); // by peer and purpose
    private final Map<String, Integer> accepted = new ConcurrentHashMap<>();

    /** A job whose members listen at {@code addresses}. Takes over {@code arrivals} and {@code connections}. */
    Job(RankEnvironment environment, JobSecret secret, TimeLimits limits, List<InetSocketAddress> addresses,
        Arrivals arrivals, Map<Integer, Connection> connections) {
        this.environment = environment;
        this.secret = secret;
        this.limits = limits;
        this.addresses = List.copyOf(addresses);
        this.arrivals = arrivals;
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

    /** How long ranks wait for each other. */
    public TimeLimits limits() {
        return limits;
    }

    /** Tells who is lost. */
    public FailureDetector watch() {
        return watch;
    }

    /**
     * A new connection to {@code peer}, which asks for it by {@link #accept} with the same purpose. Blocking; the
     * caller closes it.
     *
     * @param purpose tells the connections of two ranks apart; of the same purpose, the n-th meets the n-th
     */
    public SocketChannel connect(int peer, String purpose) throws IOException {
        Connection connection = call(addresses.get(peer));
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

    /** A flood of strangers may sweep a call away; a few more tries get through, or find that nobody is there. */
    private Connection call(InetSocketAddress address) throws IOException {
        long deadline = System.nanoTime() + limits.failure().toNanos();
        while (true) {
            try {
                return Connection.open(address, secret, limits.failure());
            } catch (Handshake.Refused | ConnectException hopeless) {
                throw hopeless;
            } catch (IOException sweptAway) {
                if (System.nanoTime() > deadline || watch.failure().isPresent()
                    || Thread.currentThread().isInterrupted()) { // every further try would end at once
                    throw sweptAway;
                }
                FailureDetector.pause(limits.beat());
            }
        }
    }

    /**
     * The connection that {@code peer} opens by {@link #connect}.
     *
     * @throws CommunicationException if the job fails before it arrives, or it does not in time
     */
    public SocketChannel accept(int peer, String purpose) {
        CompletableFuture<SocketChannel> arrival = arrivals.of(new Caller(peer, purpose,
            accepted.merge(peer + purpose, 1, Integer::sum)));
        watch.onFailure(() -> watch.failure().ifPresent(
            reason -> arrival.completeExceptionally(new CommunicationException("rank " + rank() + ": " + reason))));
        try {
            return arrival.get(limits.stall().toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException failed) {
            throw new CommunicationException(failed.getCause().getMessage(), failed);
        } catch (TimeoutException late) {
            throw new CommunicationException("rank " + rank() + ": rank " + peer + " did not connect for '" + purpose
                + "' within " + limits.stall().toSeconds() + " s", late);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new CommunicationException("interrupted while waiting for rank " + peer, interrupted);
        }
    }

    /**
     * What to end with when this rank's device has failed: that failure, which the others are told, or what the job
     * knows better.
     */
    public RuntimeException reportFailure(DeviceException broken) {
        Optional<CommunicationException> cause = rootCause(broken);
        if (cause.isPresent()) {
            return cause.get();
        }
        watch.fail("rank " + rank() + ": " + broken.getMessage());
        return broken;
    }

    /** What the job knows better: a peer that is lost, or has issued something else, can bring a device down. */
    public Optional<CommunicationException> rootCause(DeviceException broken) {
        Optional<String> known = worldSize() > 1 ? watch.imminentFailure() : Optional.empty();
        return known.map(reason -> new CommunicationException("rank " + rank() + ": " + reason, broken));
    }

    /** Leaves the job: communicators are closed first. Rank 0 stays until the others have left, within limits. */
    @Override
    public void close() {
        watch.close();
        arrivals.close();
    }

    /** The door at which peers call, and who has come in by it. */
    static final class Arrivals implements Closeable {
        private final Map<Caller, CompletableFuture<SocketChannel>> channels = new ConcurrentHashMap<>();
        private AuthenticatedListener door;

        /** Starts to listen. */
        void listen(InetAddress address, JobSecret secret) throws IOException {
            door = AuthenticatedListener.anywhere(address, secret, this::welcome);
        }

        InetSocketAddress address() throws IOException {
            return door.address();
        }

        private void welcome(Connection connection) throws IOException {
            Caller caller = new Caller(connection.in().readInt(), connection.in().readUTF(),
                connection.in().readInt());
            connection.unlimited();
            if (!of(caller).complete(connection.channel())) { // nobody waits for it any more
                connection.close();
            }
        }

        CompletableFuture<SocketChannel> of(Caller caller) {
            return channels.computeIfAbsent(caller, any -> new CompletableFuture<>());
        }

        /** Closes the door, and every connection that has come in by it. */
        @Override
        public void close() {
            if (door != null) {
                door.close();
            }
            channels.values().forEach(arrival -> arrival.thenAccept(Connection::closeQuietly));
        }
    }

    private record Caller(int rank, String purpose, int count) { }
}
