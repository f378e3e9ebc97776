package org.isobar.backend.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The ranks of a job as Java processes with the class path of this one. Each is given, before its other arguments, the
 * name of a file that it makes when it is under way.
 */
public final class RankProcesses implements AutoCloseable {
    private static final long START_SECONDS = 60;
    private static final long END_SECONDS = 60;

    private final Path directory;
    private final List<Process> processes = new ArrayList<>();

    /** Starts {@code count} ranks of {@code main}, which write under {@code directory}. */
    public RankProcesses(Class<?> main, int count, Path directory, Map<String, String> environment,
        String... arguments) throws IOException {
        this.directory = directory;
        int port = Ranks.freePort();
        for (int rank = 0; rank < count; rank++) {
            List<String> all = new ArrayList<>(List.of(mark(rank).toString()));
            all.addAll(List.of(arguments));
            processes.add(Jvm.start(main, rank, count, port, file(rank), environment, all));
        }
    }

    private Path mark(int rank) {
        return directory.resolve("mark" + rank);
    }

    private Path file(int rank) {
        return directory.resolve("log" + rank);
    }

    /** Number of ranks. */
    public int count() {
        return processes.size();
    }

    /** Returns when all ranks are under way. */
    public void awaitUnderWay() throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
        for (int rank = 0; rank < count(); rank++) {
            while (!Files.exists(mark(rank))) {
                assertTrue(System.nanoTime() < deadline && processes.get(rank).isAlive(), log(rank));
                Thread.sleep(20);
            }
        }
    }

    /** Ends a rank that is not asked. */
    public void kill(int rank) {
        processes.get(rank).destroyForcibly();
    }

    /** A rank is there, and does nothing any more. */
    public void stop(int rank) throws Exception {
        new ProcessBuilder("kill", "-STOP", String.valueOf(processes.get(rank).pid())).start().waitFor();
    }

    /** The code with which the rank ends; fails unless it does in time. */
    public int end(int rank) throws Exception {
        assertTrue(processes.get(rank).waitFor(END_SECONDS, TimeUnit.SECONDS),
            "rank " + rank + " still runs: " + log(rank));
        return processes.get(rank).exitValue();
    }

    /** Fails unless the rank ends in time, with that code, and has said each of these. */
    public void expect(int rank, int code, String... words) throws Exception {
        assertEquals(code, end(rank), log(rank));
        for (String each : words) {
            assertTrue(log(rank).contains(each), each + " in: " + log(rank));
        }
    }

    /** What a rank has said. */
    public String log(int rank) throws IOException {
        return Files.readString(file(rank));
    }

    @Override
    public void close() {
        processes.forEach(Process::destroyForcibly);
    }
}
