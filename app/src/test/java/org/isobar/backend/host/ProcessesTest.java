package org.isobar.backend.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks in processes of their own: they reduce, and survive neither the death nor the stop of one of them. */
class ProcessesTest {
    @TempDir
    private Path directory;
    private final List<Process> processes = new ArrayList<>();

    @AfterEach
    void endAll() {
        processes.forEach(Process::destroyForcibly);
    }

    @Test
    void twoProcessesReduce() throws Exception {
        start(2, 10);
        for (int rank = 0; rank < 2; rank++) {
            assertEquals(0, code(rank), log(rank));
            assertTrue(log(rank).contains("value 7.5"), log(rank));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aKilledProcessEndsTheOthers(int killed) throws Exception {
        start(3, Integer.MAX_VALUE);
        awaitUnderWay();
        processes.get(killed).destroyForcibly();
        expectSurvivors(killed, "rank " + killed + " has died");
    }

    @Test
    void aStoppedProcessEndsTheOthers() throws Exception {
        start(3, Integer.MAX_VALUE);
        awaitUnderWay();
        new ProcessBuilder("kill", "-STOP", String.valueOf(processes.get(1).pid())).start().waitFor();
        expectSurvivors(1, "rank 1 gives no sign of life");
    }

    private void expectSurvivors(int lost, String reason) throws Exception {
        for (int rank = 0; rank < 3; rank++) {
            if (rank != lost) {
                assertEquals(3, code(rank), log(rank));
                assertTrue(log(rank).contains("rank " + rank + ", group dp [0, 1, 2], operation "), log(rank));
                assertTrue(log(rank).contains(reason), log(rank));
            }
        }
    }

    private void start(int count, int rounds) throws IOException {
        int port = Ranks.freePort();
        for (int rank = 0; rank < count; rank++) {
            processes.add(Jvm.start(RankProcess.class, rank, count, port, directory.resolve("log" + rank),
                String.valueOf(rounds), mark(rank).toString()));
        }
    }

    private Path mark(int rank) {
        return directory.resolve("mark" + rank);
    }

    private void awaitUnderWay() throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        for (int rank = 0; rank < processes.size(); rank++) {
            while (!Files.exists(mark(rank))) {
                assertTrue(System.nanoTime() < deadline && processes.get(rank).isAlive(), "rank " + rank);
                Thread.sleep(20);
            }
        }
    }

    private int code(int rank) throws Exception {
        assertTrue(processes.get(rank).waitFor(30, TimeUnit.SECONDS), "rank " + rank + " still runs");
        return processes.get(rank).exitValue();
    }

    private String log(int rank) throws IOException {
        return Files.readString(directory.resolve("log" + rank));
    }
}
