package org.isobar.distributed.job;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.SequencedMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Listens on a port and lets in only who proves the job's secret. A stranger has {@link #PATIENCE} seconds for it, and
 * there are never more than {@link #STRANGERS} of them: a newcomer then turns out the one that has been at the door
 * longest. A process of the job needs milliseconds, and calls again if a flood of strangers swept it away.
 */
final class AuthenticatedListener implements Closeable {
    private static final int STRANGERS = 256;
    private static final int PATIENCE = 5;
    private static final int SWEEP_MILLIS = 200;

    private final ServerSocketChannel listener;
    private final JobSecret secret;
    private final Host host;
    private final SequencedMap<SocketChannel, Long> strangers = new LinkedHashMap<>(); // since System.nanoTime()
    private final AtomicInteger refused = new AtomicInteger();

    /** Listens on {@code address}; port 0 takes any that is free. */
    AuthenticatedListener(InetSocketAddress address, JobSecret secret, Host host) throws IOException {
        this.secret = secret;
        this.host = host;
        listener = ServerSocketChannel.open();
        try {
            listener.bind(address, STRANGERS);
        } catch (IOException | RuntimeException failed) {
            listener.close();
            throw failed;
        }
        Thread.ofPlatform().daemon().name("isobar-door").start(this::accept);
        Thread.ofVirtual().name("isobar-door-sweeper").start(this::sweep);
    }

    /** A door on any free port of {@code address}. */
    static AuthenticatedListener anywhere(InetAddress address, JobSecret secret, Host host) throws IOException {
        return new AuthenticatedListener(new InetSocketAddress(address, 0), secret, host);
    }

    /** Where it listens. */
    InetSocketAddress address() throws IOException {
        return (InetSocketAddress) listener.getLocalAddress();
    }

    /** How many did not prove the secret so far. */
    int refused() {
        return refused.get();
    }

    private void accept() {
        while (listener.isOpen()) {
            try {
                SocketChannel stranger = listener.accept();
                admit(stranger);
                Thread.ofVirtual().name("isobar-door-guest").start(() -> examine(stranger));
            } catch (ClosedChannelException closed) {
                return;
            } catch (IOException exhausted) { // no more file descriptors, say: strangers will be swept out
                pause();
            }
        }
    }

    private void admit(SocketChannel stranger) {
        synchronized (strangers) {
            if (strangers.size() >= STRANGERS) {
                turnOut(strangers.firstEntry().getKey());
            }
            strangers.putLast(stranger, System.nanoTime());
        }
    }

    private void examine(SocketChannel stranger) {
        try {
            Connection connection = new Connection(stranger);
            Handshake.answer(connection.in(), connection.out(), secret);
            synchronized (strangers) {
                if (strangers.remove(stranger) == null) {
                    throw new ClosedChannelException(); // too late: it was turned out
                }
            }
            Handshake.admit(connection.out());
            connection.limit(Duration.ofSeconds(PATIENCE));
            host.welcome(connection);
        } catch (IOException | RuntimeException notOneOfUs) {
            refused.incrementAndGet();
            synchronized (strangers) {
                turnOut(stranger);
            }
        }
    }

    private void sweep() {
        while (listener.isOpen()) {
            pause();
            synchronized (strangers) {
                long latest = System.nanoTime() - TimeUnit.SECONDS.toNanos(PATIENCE);
                while (!strangers.isEmpty() && strangers.firstEntry().getValue() < latest) {
                    turnOut(strangers.firstEntry().getKey());
                }
            }
        }
    }

    private void turnOut(SocketChannel stranger) {
        strangers.remove(stranger);
        Connection.closeQuietly(stranger);
    }

    private static void pause() {
        try {
            Thread.sleep(SWEEP_MILLIS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Stops listening and turns out every stranger; those let in stay. */
    @Override
    public void close() {
        Connection.closeQuietly(listener);
        synchronized (strangers) {
            strangers.keySet().forEach(Connection::closeQuietly);
            strangers.clear();
        }
    }

    /** Receives those that are let in. */
    @FunctionalInterface
    interface Host {
        /**
         * Hears what the guest wants, on a thread of its own, and takes over the connection. Reading is limited in time
         * until it lifts the limit; the connection is closed if it fails.
         */
        void welcome(Connection connection) throws IOException;
    }
}
