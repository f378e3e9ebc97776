package org.isobar.backend.host;

import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.isobar.distributed.Communicator;
import org.isobar.distributed.JobSecret;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.RankEnvironment;
import org.isobar.distributed.Rendezvous;
import org.isobar.distributed.TimeLimits;

/** Ranks as threads of this process, connected through memory or through real sockets. */
public enum Ranks {
    /** {@link InProcessCommunicator}. */
    THREADS {
        @Override
        void open(ProcessGroup group, Shared shared, Body body) throws Exception {
            try (Communicator communicator = shared.hub.open(group)) {
                body.run(communicator);
            }
        }
    },
    /** {@link SocketCommunicator}. */
    SOCKETS {
        @Override
        void open(ProcessGroup group, Shared shared, Body body) throws Exception {
            RankEnvironment rank = new RankEnvironment(group.rank(), group.size(), 0, "127.0.0.1", shared.port);
            try (var job = Rendezvous.join(rank, JobSecret.none(), Map.of(), shared.limits);
                var communicator = SocketCommunicator.open(job, group)) {
                body.run(communicator);
            }
        }
    };

    /** So that tests of failures are short. */
    public static final TimeLimits SHORT =
        new TimeLimits(Duration.ofSeconds(30), Duration.ofSeconds(4), Duration.ofSeconds(2));
    /** As long as a loaded machine may need. */
    public static final TimeLimits LONG =
        new TimeLimits(Duration.ofSeconds(30), Duration.ofSeconds(20), Duration.ofSeconds(20));
    private static final Duration DEADLINE = Duration.ofSeconds(30);

    abstract void open(ProcessGroup group, Shared shared, Body body) throws Exception;

    /** Runs {@code body} at each of {@code count} ranks, and expects that all succeed. */
    public void run(int count, Body body) throws Exception {
        List<Exception> thrown = outcomes(count, LONG, body);
        for (Exception each : thrown) {
            if (each != null) {
                throw each;
            }
        }
    }

    /** Runs {@code body} at each of {@code count} ranks; what each of them throws, or null. */
    public List<Exception> outcomes(int count, TimeLimits limits, Body body) throws Exception {
        Shared shared = new Shared(new InProcessHub(limits.stall()), freePort(), limits);
        List<Exception> thrown = new ArrayList<>(Collections.nCopies(count, null));
        List<Integer> all = IntStream.range(0, count).boxed().toList();
        List<Thread> threads = new ArrayList<>();
        for (int rank : all) {
            threads.add(Thread.ofPlatform().daemon().name("rank " + rank).start(() -> {
                try {
                    open(new ProcessGroup("dp", all, rank), shared, body);
                } catch (Exception | AssertionError failure) {
                    thrown.set(rank, failure instanceof Exception exception ? exception : new Exception(failure));
                }
            }));
        }
        long deadline = System.nanoTime() + DEADLINE.toNanos();
        for (Thread thread : threads) {
            if (!thread.join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime())))) {
                fail(thread.getName() + " still runs:\n" + List.of(thread.getStackTrace()));
            }
        }
        return thrown;
    }

    /** A port that nobody listens on at the moment. */
    public static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    /** What one rank does. */
    @FunctionalInterface
    public interface Body {
        /** Does it. */
        void run(Communicator communicator) throws Exception;
    }

    private record Shared(InProcessHub hub, int port, TimeLimits limits) { }
}
