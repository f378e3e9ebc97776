package org.isobar.backend.host;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks as processes: they reduce tensors, and all end when one of them is killed or stopped. */
@Execution(ExecutionMode.CONCURRENT)
class ProcessesTest {
    @TempDir
    private Path directory;

    @Test
    void twoProcessesReduce() throws Exception {
        try (RankProcesses ranks = start(2, 10)) {
            ranks.expect(0, 0, "value 7.5");
            ranks.expect(1, 0, "value 7.5");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aKilledProcessEndsTheOthers(int killed) throws Exception {
        try (RankProcesses ranks = start(3, Integer.MAX_VALUE)) {
            ranks.awaitUnderWay();
            ranks.kill(killed);
            expectSurvivors(ranks, killed, "rank " + killed + " has died");
        }
    }

    @Test
    void aStoppedProcessEndsTheOthers() throws Exception {
        try (RankProcesses ranks = start(3, Integer.MAX_VALUE)) {
            ranks.awaitUnderWay();
            ranks.stop(1);
            expectSurvivors(ranks, 1, "rank 1 sends no heartbeat");
        }
    }

    private static void expectSurvivors(RankProcesses ranks, int lost, String reason) throws Exception {
        for (int rank = 0; rank < ranks.count(); rank++) {
            if (rank != lost) {
                ranks.expect(rank, 3, "rank " + rank + ", group dp [0, 1, 2], operation ", reason);
            }
        }
    }

    private RankProcesses start(int count, int rounds) throws IOException {
        return new RankProcesses(RankProcess.class, count, directory, Map.of(), String.valueOf(rounds));
    }
}
