package org.isobar.distributed.job;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

import org.junit.jupiter.api.Test;

/** Detection of ranks that wait too long. */
class StallDetectorTest {
    private static final RankStatus ZERO = new RankStatus(5, "rank 0");
    private static final List<RankStatus> OTHERS = List.of(new RankStatus(6, "rank 1"));
    private final StallDetector stalls = new StallDetector(0,
        new TimeLimits(Duration.ofSeconds(20), Duration.ofSeconds(10), Duration.ofSeconds(60)));

    private Optional<String> judge(RankStatus own, int second) {
        return stalls.check(own, OTHERS, Duration.ofSeconds(second).toNanos());
    }

    @Test
    void allRanksWaitWithoutProgress() {
        assertEquals(Optional.empty(), judge(ZERO, 0));
        assertEquals(Optional.empty(), judge(ZERO, 7));
        assertEquals(Optional.of("all ranks wait for each other: rank 0; rank 1"), judge(ZERO, 8));
    }

    @Test
    void progressAndComputationRestartTheTime() {
        assertEquals(Optional.empty(), judge(ZERO, 0));
        assertEquals(Optional.empty(), judge(new RankStatus(6, "rank 0"), 8));
        assertEquals(Optional.empty(), judge(new RankStatus(6, ""), 16));
        assertEquals(Optional.empty(), judge(new RankStatus(6, "rank 0"), 24));
    }

    /** All ranks were stopped at the same time, as when a machine is suspended. */
    @Test
    void aStoppedProcessRestartsItsTimes() {
        assertEquals(Optional.empty(), judge(ZERO, 0));
        stalls.restartTimers(Duration.ofSeconds(100).toNanos());
        assertEquals(Optional.empty(), judge(ZERO, 100));
        assertEquals(Optional.empty(), judge(ZERO, 107));
        assertEquals(Optional.of("all ranks wait for each other: rank 0; rank 1"), judge(ZERO, 108));
    }
}
