package org.isobar.distributed.job;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BooleanSupplier;

/** Opens connections to other processes of the job, and authenticates to them. */
record Dialer(Transport transport, JobSecret secret, TimeLimits limits) {
    private static final int MIN_PAUSE = 100; // milliseconds
    private static final int MAX_PAUSE = 600;

    /**
     * Connects once. The connect and each read take at most {@code limit}.
     *
     * @throws Handshake.RefusedException if the other process does not belong to this job
     */
    Connection open(InetSocketAddress address, Duration limit) throws IOException {
        Connection connection = transport.connect(address, limit);
        try {
            connection.limit(limit);
            Handshake.call(connection.in(), connection.out(), secret);
            Handshake.awaitAdmission(connection.in());
            connection.unlimited();
            return connection;
        } catch (IOException | RuntimeException failed) {
            connection.close();
            throw failed;
        }
    }

    /**
     * Connects to a rank that listens. Retries, because a listener may evict a connection before it is authenticated.
     *
     * @param hopeless whether the job has failed, so that further attempts would fail at once
     */
    Connection open(InetSocketAddress address, BooleanSupplier hopeless) throws IOException {
        long deadline = System.nanoTime() + limits.failure().toNanos();
        while (true) {
            try {
                return open(address, limits.failure());
            } catch (Handshake.RefusedException | ConnectException permanent) {
                throw permanent;
            } catch (IOException evicted) {
                if (System.nanoTime() > deadline || hopeless.getAsBoolean()
                    || Thread.currentThread().isInterrupted()) {
                    throw evicted;
                }
                FailureDetector.pause(Duration.ofMillis(ThreadLocalRandom.current().nextLong(MIN_PAUSE, MAX_PAUSE)));
            }
        }
    }
}
