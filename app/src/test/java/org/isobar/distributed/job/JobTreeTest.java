package org.isobar.distributed.job;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Heartbeats and addresses along the tree of ranks, in memory: ranks 17 to 32 are children of rank 1. */
@Execution(ExecutionMode.CONCURRENT)
class JobTreeTest {
    private static final int COUNT = 100;
    private static final TimeLimits LIMITS =
        new TimeLimits(Duration.ofSeconds(20), Duration.ofSeconds(3), Duration.ofSeconds(60));
    private final MemoryNetwork network = new MemoryNetwork();
    private final List<MemoryNetwork.Endpoint> endpoints =
        Stream.generate(network::endpoint).limit(COUNT).toList();

    @Test
    void everyRankHasOneParent() {
        for (int size : new int[] {1, 2, 17, 18, 300, 16_384}) {
            int[] seen = IntStream.range(0, size).flatMap(rank -> IntStream.of(JobTree.children(rank, size))
                .peek(child -> assertEquals(rank, JobTree.parent(child)))).toArray();
            assertArrayEquals(IntStream.range(1, size).toArray(), seen);
        }
    }

    /** Each beat of rank 0 goes to its 16 children, and each rank sends at most 17. */
    @Test
    void noRankBeatsWithMoreThanSeventeen() throws Exception {
        try (ManyRanks ranks = new ManyRanks(endpoints, LIMITS)) {
            awaitBeatsBelow(17);
            assertEquals(Map.of("none", COUNT), ranks.failures(Duration.ZERO));
        }
    }

    /** Waits until each rank sends at most {@code limit} messages in an interval; early beats go to rank 0. */
    private void awaitBeatsBelow(int limit) throws InterruptedException {
        long most = Long.MAX_VALUE;
        int intervals = 4;
        for (int attempt = 0; attempt < 20 && most > (intervals + 1) * limit; attempt++) {
            long[] before = endpoints.stream().mapToLong(MemoryNetwork.Endpoint::messages).toArray();
            Thread.sleep(LIMITS.heartbeatInterval().multipliedBy(intervals));
            most = IntStream.range(0, COUNT).mapToLong(rank -> endpoints.get(rank).messages() - before[rank]).max()
                .orElseThrow();
        }
        assertTrue(most <= (intervals + 1) * limit, most + " messages in " + intervals + " intervals");
    }

    @Test
    void theSilenceOfAParentIsNoVerdictOnItsChildren() throws Exception {
        try (ManyRanks ranks = new ManyRanks(endpoints, LIMITS)) {
            awaitBeatsBelow(17);
            endpoints.get(1).freeze();
            assertEquals("rank 1 sends no heartbeat: it is stopped or cannot be reached", verdict(ranks, COUNT - 1));
        }
    }

    /** What {@code count} ranks have been told; the stopped rank itself may take its peers for stopped. */
    private static String verdict(ManyRanks ranks, int count) throws InterruptedException {
        Map<String, Integer> failures = Map.of();
        for (int attempt = 0; attempt < 400; attempt++) {
            failures = ranks.failures(Duration.ofMillis(50));
            for (Map.Entry<String, Integer> failure : failures.entrySet()) {
                if (failure.getValue() >= count && !failure.getKey().equals("none")) {
                    return failure.getKey();
                }
            }
        }
        return failures.toString();
    }

    @Test
    void childrenOfARankThatHasLeftAreWatchedByRankZero() throws Exception {
        try (ManyRanks ranks = new ManyRanks(endpoints, LIMITS)) {
            awaitBeatsBelow(17);
            ranks.jobs().get(1).close();
            Thread.sleep(LIMITS.silenceLimit());
            assertEquals(Map.of("none", COUNT), ranks.failures(Duration.ZERO));
            endpoints.get(20).freeze();
            assertEquals("rank 20 sends no heartbeat: it is stopped or cannot be reached", verdict(ranks, COUNT - 2));
        }
    }

    /** Ranks at the bottom of the tree wait for one that is not there. */
    @Test
    void ranksThatAllWaitAreDetected() throws Exception {
        try (ManyRanks ranks = new ManyRanks(endpoints, LIMITS)) {
            ranks.jobs().forEach(job -> job.watch().waiting(() -> "rank " + job.rank()));
            ranks.jobs().get(99).watch().resumed();
            Thread.sleep(LIMITS.failure());
            assertEquals(Map.of("none", COUNT), ranks.failures(Duration.ZERO));
            ranks.jobs().get(99).watch().waiting(() -> "rank 99");
            String first = verdict(ranks, COUNT);
            assertTrue(first.startsWith("all ranks wait for each other: rank 0; rank 1; rank 2; "), first);
        }
    }
}
