package org.isobar.distributed.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The log has what many ranks find by themselves once, and nothing is lost with a rank. */
@Execution(ExecutionMode.SAME_THREAD)
class FailureSummaryTest {
    private static final String FULL = "cannot write weights: no space left on device";

    /** What rank 0 logs. */
    private final Queue<String> log = new ConcurrentLinkedQueue<>();

    private boolean fail(Job job, String finding) {
        job.watch().fail("rank " + job.rank() + ": " + finding);
        boolean logged = FailureSummary.log(job, Optional.of(finding), finding, log::add);
        job.close();
        return logged;
    }

    @Test
    void rank0LogsAFindingOfAllRanksOnce() throws Exception {
        findingOfAllRanks(64);
    }

    @Test
    @Tag("slow")
    void rank0LogsAFindingOf1024RanksOnce() throws Exception {
        findingOfAllRanks(1024);
    }

    private void findingOfAllRanks(int count) throws Exception {
        try (ManyRanks ranks = new ManyRanks(count)) {
            List<Boolean> logged = ranks.run(job -> fail(job, job.rank() == 7 ? "a bad disk" : FULL));
            assertEquals(Collections.nCopies(count, true), logged);
            assertEquals(List.of("ranks 0-6, 8-" + (count - 1) + ": " + FULL, "rank 7: a bad disk"),
                List.copyOf(log));
        }
    }

    /** Rank 0 has found nothing, two ranks have, one is killed, and the others leave. */
    @Test
    void lossesAndFindingsAreLoggedByARankThatHasFoundNothing() throws Exception {
        int count = 24;
        try (ManyRanks ranks = new ManyRanks(count)) {
            ranks.kill();
            ranks.failures(Duration.ofSeconds(20));
            List<Boolean> logged = ranks.run(job -> {
                if (job.rank() == 3 || job.rank() == 4) {
                    return fail(job, FULL);
                }
                String message = "rank " + job.rank() + ": " + job.watch().failure().orElse("");
                boolean told = job.rank() == 0 && FailureSummary.log(job, Optional.empty(), message, log::add);
                job.close();
                return told;
            });
            assertEquals(List.of(0, 3, 4), IntStream.range(0, count).filter(logged::get).boxed().toList());
            assertEquals(List.of("rank 0: rank 23 has died: it ended its connection (end of stream) (the other 23 "
                + "ranks end, too)", "ranks 3-4: " + FULL), List.copyOf(log));
        }
    }

    @Test
    void ranksLogTheirFindingsIfRank0LeavesWithoutLoggingThem() throws Exception {
        try (ManyRanks ranks = new ManyRanks(18)) {
            List<Boolean> logged = ranks.run(job -> {
                if (job.rank() > 0) {
                    return fail(job, FULL);
                }
                job.close();
                return true;
            });
            assertTrue(logged.removeFirst());
            assertFalse(logged.contains(true), logged::toString);
            assertEquals(List.of(), List.copyOf(log));
        }
    }

    @Test
    void manyFindingsThatDifferInNumbersShareALine() {
        SortedMap<Integer, String> findings = new TreeMap<>();
        IntStream.range(0, 40).forEach(rank -> findings.put(rank, "cannot write shard-" + rank + ".bin"));
        findings.put(12, "a bug");
        assertEquals(List.of("ranks 0-11, 13-39: cannot write shard-0.bin (on rank 0; the others differ in numbers "
            + "only)", "rank 12: a bug"), FailureSummary.lines(findings));
        assertEquals("ranks 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, ..., 50 ranks",
            FailureSummary.ranks(IntStream.range(0, 50).map(rank -> 2 * rank).boxed().toList()));
    }
}
