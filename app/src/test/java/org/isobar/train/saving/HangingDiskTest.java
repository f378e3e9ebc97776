package org.isobar.train.saving;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.checkpoint.CheckpointWriter;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.RankMessages;
import org.isobar.distributed.ThreadMessages;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.Screen;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Tests saving to a disk that hangs, simulated by a pipe without a reader: no thread waits longer than its limit. */
@Execution(ExecutionMode.CONCURRENT)
class HangingDiskTest {
    private static final Duration SHORT = Duration.ofMillis(300);
    private static final Duration LONG = Duration.ofMinutes(10);
    private static final long ITERATION = 5;

    @TempDir
    private Path directory;
    private final ByteArrayOutputStream screen = new ByteArrayOutputStream();
    private final RunLog log = new RunLog(Screen.plain(screen));
    private final DryRunDevice device = new DryRunDevice();

    @AfterEach
    void close() {
        log.close();
        device.close();
    }

    private AsyncCheckpointWriter saves(int rank, Duration patience, Runnable job) {
        List<RankMessages> messages = ThreadMessages.of(2);
        if (rank == 1) {
            messages.getFirst().announce("save begun", "{\"number\":\"1\",\"failure\":null}".getBytes(UTF_8));
        }
        return new AsyncCheckpointWriter(TinyRun.config(directory, directory), log,
            new CheckpointWriter(directory, "this run", rank, messages.get(rank), patience),
            new Snapshot(device, List.of(), 0), StopRequest.NONE, job);
    }

    /** Puts a pipe in the place of the first file that rank 1 reads. */
    private Path hang() throws IOException, InterruptedException {
        Path temporary = Files.createDirectories(directory.resolve(".checkpoint-" + ITERATION + ".tmp"));
        Path pipe = temporary.resolve("run");
        assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
        return pipe;
    }

    private static void release(Path pipe) throws IOException {
        Files.writeString(pipe, "\"this run\"");
    }

    @Test
    void rankThatStillWritesAfterTwiceTheLimitEnds() throws Exception {
        Path pipe = hang();
        try (AsyncCheckpointWriter saves = saves(1, SHORT, () -> { })) {
            saves.save(ITERATION, TrainingState.BEGINNING);
            long start = System.nanoTime();
            assertEquals("a checkpoint is still being written into " + directory + " after 0.6 s; check that the disk "
                + "responds", assertThrows(IllegalStateException.class, saves::await).getMessage());
            assertTrue(System.nanoTime() - start < LONG.toNanos() / 60);
            release(pipe);
        }
    }

    @Test
    void writingRankDetectsThatTheJobFailed() throws Exception {
        Path pipe = hang();
        try (AsyncCheckpointWriter saves = saves(1, LONG, () -> {
            throw new CommunicationException("rank 1: rank 0 has died");
        })) {
            saves.save(ITERATION, TrainingState.BEGINNING);
            assertEquals("rank 1: rank 0 has died",
                assertThrows(CommunicationException.class, saves::await).getMessage());
            release(pipe);
        }
    }

    @Test
    void rankZeroAbandonsASaveIfAPeerIsLate() throws IOException {
        Duration patience = Duration.ofSeconds(1); // as long again may pass until rank 0 has written its own file
        try (AsyncCheckpointWriter saves = saves(0, patience, () -> { })) {
            saves.save(ITERATION, TrainingState.BEGINNING);
            assertEquals(Optional.of("checkpoint " + directory + "/checkpoint-5 was not saved: rank 1 has not written "
                + "its shard within 1.0 s; check that process and its disk"), saves.await());
            assertTrue(screen.toString()
                .contains("WARNING - checkpoint " + directory + "/checkpoint-5 was not saved: "),
                screen.toString());
            assertEquals(List.of(), DirectoryTree.names(directory));
        }
    }

    /** The run ends for another reason, which it has already logged. */
    @Test
    void unfinishedSaveIsAbandonedWithoutAMessage() throws Exception {
        AsyncCheckpointWriter saves = saves(0, LONG, () -> { });
        saves.save(ITERATION, TrainingState.BEGINNING);
        Path own = directory.resolve(".checkpoint-5.tmp/run");
        while (Files.notExists(own)) {
            Thread.sleep(1);
        }
        long start = System.nanoTime();
        saves.close();
        assertTrue(System.nanoTime() - start < Duration.ofSeconds(4).toNanos());
        assertEquals(List.of(), DirectoryTree.names(directory));
        assertEquals("", screen.toString());
    }
}
