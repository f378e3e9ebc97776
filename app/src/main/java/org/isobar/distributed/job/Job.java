package org.isobar.distributed.job;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.time.Duration;
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
    private final Dialer dialer;
    private final CompletableFuture<AddressBook> addresses = new CompletableFuture<>();
    private final IncomingConnections incoming;
    private final FailureDetector watch;
    private final TreeLinks links;
    private final Map<String, Integer> connected = new ConcurrentHashMap<>(); // number of calls by peer and purpose
    private final Map<String, Integer> accepted = new ConcurrentHashMap<>();

    /** A job that has started. Takes over {@code incoming} and {@code connections}: to rank 0, on rank 0 to all. */
    Job(RankEnvironment environment, Dialer dialer, IncomingConnections incoming,
        Map<Integer, Connection> connections) {
        this.environment = environment;
        this.dialer = dialer;
        this.incoming = incoming;
        watch = new FailureDetector(environment.rank(), connections, dialer.limits(), dialer.transport());
        watch.onFailure(() -> watch.failure().ifPresent(reason -> addresses.completeExceptionally(failed(reason))));
        links = new TreeLinks(environment, dialer, incoming, watch, addresses);
    }

    /** Begins to connect to other ranks, whose addresses are known. */
    void start(AddressBook book) {
        addresses.complete(book);
    }

    /** Begins to receive the addresses of other ranks from the parent in the {@link JobTree}. */
    void start(InetSocketAddress parent, InetAddress master) {
        links.connect(parent, master);
    }

    private CommunicationException failed(String reason) {
        return new CommunicationException("rank " + rank() + ": " + reason);
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
        return dialer.limits();
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
        return open(peer, purpose).channel();
    }

    /** Opens a connection as {@link #connect} does. */
    Connection open(int peer, String purpose) throws IOException {
        Connection connection = dialer.open(address(peer), () -> watch.failure().isPresent());
        try {
            new IncomingConnections.Key(rank(), purpose, connected.merge(peer + purpose, 1, Integer::sum))
                .write(connection);
            return connection;
        } catch (IOException lost) {
            connection.close();
            throw lost;
        }
    }

    /** Waits until the address is known, which another rank passes on. */
    InetSocketAddress address(int peer) {
        return await(addresses, limits().firstHeartbeat().plus(limits().failure()), "the address of rank " + peer)
            .of(peer);
    }

    /**
     * Waits for the connection that {@code peer} opens with {@link #connect}. The channel is blocking. The caller
     * closes it.
     *
     * @throws CommunicationException if the job fails before the connection arrives, or it does not arrive in time
     */
    public SocketChannel accept(int peer, String purpose) {
        IncomingConnections.Key key = next(peer, purpose);
        SocketChannel channel = await(incoming(key), limits().stall(), "a connection from rank " + peer + " for '"
            + purpose + "'").channel();
        incoming.remove(key);
        return channel;
    }

    /**
     * The connection that {@code peer} opens, when it has arrived; completed by a failure of the job. It is closed with
     * the job.
     */
    CompletableFuture<Connection> incoming(int peer, String purpose) {
        return incoming(next(peer, purpose));
    }

    private IncomingConnections.Key next(int peer, String purpose) {
        return new IncomingConnections.Key(peer, purpose, accepted.merge(peer + purpose, 1, Integer::sum));
    }

    private CompletableFuture<Connection> incoming(IncomingConnections.Key key) {
        CompletableFuture<Connection> connection = incoming.of(key);
        FailureDetector.Registration registration = watch.onFailure(() -> watch.failure().ifPresent(
            reason -> connection.completeExceptionally(failed(reason))));
        connection.whenComplete((arrived, lost) -> registration.close());
        return connection;
    }

    private <T> T await(CompletableFuture<T> future, Duration limit, String what) {
        try {
            return future.get(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException failed) {
            throw new CommunicationException(failed.getCause().getMessage(), failed);
        } catch (TimeoutException timeout) {
            throw new CommunicationException("rank " + rank() + " did not receive " + what + " within "
                + limit.toSeconds() + " s", timeout);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new CommunicationException("rank " + rank() + " was interrupted while it waited for " + what,
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
        if (worldSize() > 1) {
            links.close();
        }
        watch.close();
        incoming.close();
    }
}
