package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.fault.UserException;
import org.isobar.telemetry.Screen;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which ranks log a failure of the job. */
class RankProcessTest {
    private static final String PLACE = ", group dp, operation 7 (all-reduce of 1 F32): ";

    private static String screen(int rank, int worldSize, int code, RuntimeException thrown) {
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        RankEnvironment ranks = new RankEnvironment(rank, worldSize, 0, "127.0.0.1", 29_500);
        assertEquals(code, RankProcess.run(ranks, Screen.plain(screen), log -> {
            throw thrown;
        }));
        return screen.toString(StandardCharsets.UTF_8);
    }

    /** In a small job each rank says where it was; of a thousand, rank 0 alone, or those that are connected to it. */
    @ParameterizedTest
    @CsvSource({"0, 1024, 700, true", "1, 1024, 700, false", "701, 1024, 700, false", "1, 1024, 0, true",
        "16, 1024, 0, true", "17, 1024, 0, false", "3, 8, 5, true", "16, 17, 5, true", "16, 1024, 100, false"})
    void someRanksLogAFailureOfAnother(int rank, int worldSize, int lost, boolean logs) {
        String message = "rank " + rank + PLACE + "rank " + lost + " has died: it ended its connection (end of stream)";
        String screen = screen(rank, worldSize, 1, new CommunicationException(message));
        assertEquals(logs, screen.contains(" - ERROR - " + message), screen);
        assertEquals(logs ? 1 : 0, screen.lines().count());
    }

    @Test
    void aFailureThatRank0HasLoggedIsNotLoggedAgain() {
        assertEquals("", screen(701, 1024, 2, new RankProcess.LoggedFailure(new UserException("the disk is full"))));
        assertEquals("", screen(701, 1024, 1, new RankProcess.LoggedFailure(new IllegalStateException("a bug"))));
    }

    @Test
    void aRankLogsItsOwnFinding() {
        assertTrue(screen(701, 1024, 2, new UserException("the disk is full")).contains("rank 701: the disk is full"));
        assertTrue(screen(701, 1024, 1, new IllegalStateException("a bug")).contains("rank 701: unexpected failure"));
    }
}
