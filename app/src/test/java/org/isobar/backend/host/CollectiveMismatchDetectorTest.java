package org.isobar.backend.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.distributed.CollectiveSequence;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.job.Job;
import org.isobar.distributed.job.JobListeners;
import org.isobar.distributed.job.JobSecret;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.distributed.job.Rendezvous;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Mismatch detection between ranks that are threads, over real sockets. */
class CollectiveMismatchDetectorTest {
    private static final Tensor TEN = HostTensors.of(DType.F32, 10, i -> i);
    private static final Duration LIMIT = Duration.ofSeconds(20);

    /** State of one rank. */
    private record Rank(int index, CollectiveMismatchDetector detector, CollectiveSequence operations,
        CompletableFuture<String> failure) { }

    private interface Body {
        void run(Rank rank) throws Exception;
    }

    private interface Program {
        String run(Job job, ProcessGroup group) throws Exception;
    }

    /** Twice, because the connections of the second exchange have the same purpose. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 7, 8})
    void exchangeGathersTheBytesOfAllRanks(int count) throws Exception {
        List<String> failures = run(count, rank -> {
            for (int factor = 10; factor <= 20; factor += 10) {
                List<ByteBuffer> all = rank.detector()
                    .exchange(ByteBuffer.allocate(8).putLong((long) factor * rank.index()).flip());
                for (int peer = 0; peer < count; peer++) {
                    assertEquals(factor * peer, all.get(peer).getLong(0));
                }
            }
        });
        failures.forEach(failure -> assertNull(failure));
    }

    @Test
    void anExchangeHasAsManyRoundsAsTheSizeHasBits() {
        assertEquals(List.of(1, 2, 3, 10, 14),
            Stream.of(2, 3, 8, 1024, 16_384).map(SmallGather::rounds).toList());
    }

    /** Many calls are in flight, and sends and receives between two ranks have an order of their own. */
    @Test
    void matchingCallsAreAccepted() throws Exception {
        List<String> failures = run(3, rank -> {
            for (int i = 0; i < 1000; i++) {
                rank.detector().announce(rank.operations().allReduce(TEN, Reduction.SUM));
                rank.detector().announce(rank.operations().receive(TEN, (rank.index() + 2) % 3));
                rank.detector().announce(rank.operations().send(TEN, (rank.index() + 1) % 3));
            }
            rank.detector().announce(rank.operations().barrier());
            rank.detector().drain(LIMIT);
        });
        failures.forEach(failure -> assertNull(failure));
    }

    @Test
    void mismatchedCallsAreNamed() throws Exception {
        CyclicBarrier end = new CyclicBarrier(3);
        List<String> failures = run(3, rank -> {
            rank.detector().announce(rank.operations().barrier());
            rank.detector().announce(rank.index() == 1 ? rank.operations().broadcast(TEN, 0)
                : rank.operations().allReduce(TEN, Reduction.SUM));
            if (rank.index() == 0) {
                rank.detector().drain(LIMIT);
            } else {
                rank.failure().get(LIMIT.toSeconds(), TimeUnit.SECONDS);
            }
            end.await(LIMIT.toSeconds(), TimeUnit.SECONDS); // a rank that leaves loses headers that it has not sent
        });
        assertEquals("operation 1 (broadcast of 10 F32): rank 0 has issued operation 1 (all-reduce of 10 F32)",
            failures.get(1));
        assertEquals("operation 1 (all-reduce of 10 F32): rank 1 has issued operation 1 (broadcast of 10 F32)",
            failures.get(2));
    }

    @Test
    void aSendOfAnotherSizeIsNamed() throws Exception {
        List<String> failures = run(2, rank -> {
            if (rank.index() == 0) {
                rank.detector().announce(rank.operations().send(TEN, 1));
                rank.detector().drain(LIMIT);
            } else {
                rank.detector().announce(rank.operations().receive(TEN.slice(0, 4), 0));
                rank.failure().get(LIMIT.toSeconds(), TimeUnit.SECONDS);
            }
        });
        assertEquals("operation 0 (receive of 4 F32): rank 0 has issued operation 0 (send of 10 F32)",
            failures.get(1));
    }

    @Test
    void aRankThatLeavesIsDetected() throws Exception {
        List<String> failures = run(2, rank -> {
            if (rank.index() == 0) {
                rank.detector().announce(rank.operations().barrier());
                rank.failure().get(LIMIT.toSeconds(), TimeUnit.SECONDS);
            }
        });
        assertTrue(failures.get(0).endsWith("the connection from rank 1 is broken (end of stream)"), failures.get(0));
        assertNull(failures.get(1));
    }

    /** Also closed communicators. Otherwise the job would keep them until its end. */
    @Test
    void closedDetectorsAreNotToldOfAFailure() throws Exception {
        List<String> kept = onRanks(2, (job, group) -> {
            int before = JobListeners.of(job);
            for (int i = 0; i < 2; i++) {
                try (CollectiveMismatchDetector detector = new CollectiveMismatchDetector(job, group);
                    Communicator communicator = SocketCommunicator.open(job, group)) {
                    detector.exchange(ByteBuffer.allocate(1));
                    communicator.barrier().await();
                }
            }
            return before + " before, " + JobListeners.of(job) + " after";
        });
        assertEquals(List.of("1 before, 1 after", "1 before, 1 after"), kept);
    }

    /** Runs {@code body} on each rank. Returns the mismatch or failure that each has reported, or null. */
    private static List<String> run(int count, Body body) throws Exception {
        return onRanks(count, (job, group) -> {
            CompletableFuture<String> failure = new CompletableFuture<>();
            try (CollectiveMismatchDetector detector = new CollectiveMismatchDetector(job, group)) {
                detector.begin((operation, thrown) -> failure.complete(operation + ": " + thrown.getMessage()));
                body.run(new Rank(group.index(), detector, new CollectiveSequence(group), failure));
            }
            return failure.getNow(null);
        });
    }

    /** Runs {@code program} on each rank of a job. Returns the results. */
    private static List<String> onRanks(int count, Program program) throws Exception {
        int port = FreePorts.one();
        try (ExecutorService threads = Executors.newFixedThreadPool(count)) {
            List<Callable<String>> ranks = IntStream.range(0, count)
                .mapToObj(rank -> (Callable<String>) () -> rank(rank, count, port, program)).toList();
            List<Future<String>> futures = threads.invokeAll(ranks);
            String[] results = new String[count];
            for (int rank = 0; rank < count; rank++) {
                results[rank] = futures.get(rank).get();
            }
            return Arrays.asList(results);
        }
    }

    private static String rank(int rank, int count, int port, Program program) throws Exception {
        ProcessGroup group = new ProcessGroup("dp", IntStream.range(0, count).boxed().toList(), rank);
        RankEnvironment self = new RankEnvironment(rank, count, 0, "127.0.0.1", port);
        try (Job job = Rendezvous.join(self, JobSecret.none(), Map.of(), Ranks.LONG)) {
            return program.run(job, group);
        }
    }
}
