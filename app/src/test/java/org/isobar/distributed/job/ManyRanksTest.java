package org.isobar.distributed.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Jobs of hundreds of ranks: all join, none is reported as failed without reason, and all learn of a failure. */
@Execution(ExecutionMode.SAME_THREAD)
class ManyRanksTest {
    private static final Duration A_SECOND = Duration.ofSeconds(1);

    @Test
    void aDeathIsKnownToAllOf256Ranks() throws Exception {
        aDeathIsKnownToAll(256, Duration.ofSeconds(5));
    }

    @Test
    @Tag("slow")
    void aDeathIsKnownToAllOf1024RanksInASecond() throws Exception {
        aDeathIsKnownToAll(1024, A_SECOND);
    }

    private static void aDeathIsKnownToAll(int count, Duration limit) throws Exception {
        try (ManyRanks ranks = new ManyRanks(count)) {
            ranks.kill();
            Map<String, Integer> failures = ranks.failures(limit);
            String died = "rank " + (count - 1) + " has died: it ended its connection (end of stream)";
            assertEquals(count - 1, failures.get(died), failures::toString);
        }
    }

    @Test
    @Tag("slow")
    void join1024RanksInTenSecondsAndIdleForAMinute() throws Exception {
        int count = 1024;
        try (ManyRanks ranks = new ManyRanks(count)) {
            assertTrue(ranks.joining().toSeconds() < 10, ranks.joining()::toString);
            Thread.sleep(Duration.ofMinutes(1)); // beats only
            assertEquals(Map.of("none", count), ranks.failures(Duration.ZERO));
        }
    }

    @Test
    @Tag("slow")
    void aFailureIsToldOnceAndBeforeLaterOnes() throws Exception {
        int count = 1024;
        try (ManyRanks ranks = new ManyRanks(count)) {
            Queue<String> told = new ConcurrentLinkedQueue<>();
            ranks.jobs().forEach(job -> job.watch().onFailure(() -> told.add(job.watch().failure().orElseThrow())));
            ranks.jobs().get(7).watch().fail("first");
            ranks.jobs().getFirst().watch().imminentFailure();
            ranks.jobs().get(9).watch().fail("later");
            assertEquals(Map.of("first", count), ranks.failures(A_SECOND));
            assertEquals(count, told.size());
        }
    }
}
