package org.isobar.distributed.job;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.SequencedMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import org.isobar.os.QuietClose;

/**
 * A listening port that accepts only connections whose caller proves the job's secret. A caller has
 * {@link #HANDSHAKE_SECONDS} seconds to do so. The number of connections that are unauthenticated at a time is limited
 * to {@link #SPARE} more than the job has callers; one more evicts the oldest. A process of the job needs milliseconds,
 * and retries if many foreign connections evicted it.
 */
final class AuthenticatedListener implements Closeable {
    private static final int SPARE = 256;
    private static final int HANDSHAKE_SECONDS = 5;
    private static final Duration SWEEP = Duration.ofMillis(200);

    private final Transport.Port listener;
    private final JobSecret secret;
    private final Handler handler;
    private final int maxPending;
    private final SequencedMap<Connection, Long> pending = new LinkedHashMap<>(); // accepted at, in nanoseconds
    private final AtomicInteger refused = new AtomicInteger();

    /**
     * Listens on {@code address}. Port 0 chooses a free port.
     *
     * @param callers number of processes of the job that may connect at the same time
     */
    AuthenticatedListener(Transport transport, InetSocketAddress address, JobSecret secret, int callers,
        Handler handler) throws IOException {
        this.secret = secret;
        this.handler = handler;
        maxPending = callers + SPARE;
        listener = transport.listen(address, maxPending); // the system may allow fewer; callers retry
        transport.start("isobar-listener", this::accept);
    }

    /** Listens on a free port of {@code address} for callers that connect one after the other. */
    static AuthenticatedListener onFreePort(Transport transport, InetAddress address, JobSecret secret,
        Handler handler) throws IOException {
        return new AuthenticatedListener(transport, new InetSocketAddress(address, 0), secret, 0, handler);
    }

    /** The address and port of this listener. */
    InetSocketAddress address() throws IOException {
        return listener.address();
    }

    /** Number of connections so far that did not prove the secret. */
    int refused() {
        return refused.get();
    }

    private void accept() {
        while (listener.isOpen()) {
            try {
                Connection connection = listener.accept();
                addPending(connection);
                Thread.ofVirtual().name("isobar-listener-handshake").start(() -> authenticate(connection));
            } catch (ClosedChannelException closed) {
                return;
            } catch (IOException exhausted) { // file descriptors, for example; evictions will free some
                FailureDetector.pause(SWEEP);
            }
        }
    }

    private void addPending(Connection connection) {
        synchronized (pending) {
            if (pending.size() >= maxPending) {
                evict(pending.firstEntry().getKey());
            }
            if (pending.isEmpty()) {
                Thread.ofVirtual().name("isobar-listener-sweeper").start(this::sweep);
            }
            pending.putLast(connection, System.nanoTime());
        }
    }

    private void authenticate(Connection connection) {
        try {
            Handshake.answer(connection.in(), connection.out(), secret);
            synchronized (pending) {
                if (pending.remove(connection) == null) {
                    throw new ClosedChannelException(); // it was evicted
                }
            }
            Handshake.admit(connection.out());
            connection.limit(Duration.ofSeconds(HANDSHAKE_SECONDS));
            handler.accepted(connection);
        } catch (IOException | RuntimeException failed) {
            refused.incrementAndGet();
            synchronized (pending) {
                evict(connection);
            }
        }
    }

    /** Evicts slow connections, until none is unauthenticated. */
    private void sweep() {
        while (true) {
            FailureDetector.pause(SWEEP);
            synchronized (pending) {
                long oldest = System.nanoTime() - TimeUnit.SECONDS.toNanos(HANDSHAKE_SECONDS);
                while (!pending.isEmpty() && pending.firstEntry().getValue() < oldest) {
                    evict(pending.firstEntry().getKey());
                }
                if (pending.isEmpty()) {
                    return;
                }
            }
        }
    }

    private void evict(Connection connection) {
        pending.remove(connection);
        connection.close();
    }

    /** Stops listening and closes all unauthenticated connections. Authenticated connections stay open. */
    @Override
    public void close() {
        QuietClose.close(listener);
        synchronized (pending) {
            pending.keySet().forEach(Connection::close);
            pending.clear();
        }
    }

    /** Receives authenticated connections. */
    @FunctionalInterface
    interface Handler {
        /**
         * Takes over an authenticated connection. Runs on a thread of its own. Reads time out until the method lifts
         * the limit. If the method throws, the connection is closed.
         */
        void accepted(Connection connection) throws IOException;
    }
}
