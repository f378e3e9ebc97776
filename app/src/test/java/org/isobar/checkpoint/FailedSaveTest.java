package org.isobar.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;

import org.isobar.checkpoint.CheckpointFixtures.Cut;
import org.isobar.distributed.RankMessages;
import org.isobar.distributed.Shard;
import org.isobar.distributed.ThreadMessages;
import org.isobar.tensor.Shape;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A failed save returns the reason, leaves no files and does not change older checkpoints.
 */
class FailedSaveTest {
    private static final Duration SHORT = Duration.ofMillis(300);
    private static final List<TensorSlice> VAST =
        List.of(new TensorSlice("vast", Shape.of(1L << 60), Shard.whole(), memory -> { }));
    private static final String REMEDY = "free space, fix the permissions, or choose another directory with --expdir";

    @TempDir
    private Path directory;
    private final Map<String, List<RankMessages>> jobs = new ConcurrentHashMap<>(); // by run
    private Path path;
    private Path temporary;

    @BeforeEach
    void saveAnOlderCheckpoint() {
        CheckpointFixtures.save(directory, 4);
        path = directory.resolve("checkpoint-5");
        temporary = directory.resolve(".checkpoint-5.tmp");
    }

    private void assertOnlyTheOlderCheckpoint() throws IOException {
        assertEquals(Set.of("checkpoint-4"), CheckpointTest.names(directory));
        try (Checkpoint older = Checkpoint.open(directory.resolve("checkpoint-4"))) {
            assertEquals(List.of(), older.verify());
        }
    }

    private SaveResult write(int rank, int ranks, Duration timeout, String run) {
        return writer(rank, ranks, timeout, run).write(5, CheckpointFixtures.pieces(Cut.ROWS, ranks, rank),
            CheckpointFixtures.METADATA);
    }

    private CheckpointWriter writer(int rank, int ranks, Duration timeout, String run) {
        return new CheckpointWriter(directory, run, rank,
            jobs.computeIfAbsent(run, any -> ThreadMessages.of(ranks)).get(rank), timeout);
    }

    private SaveResult failed(String reason) {
        return new SaveResult.Failed("checkpoint " + path + " was not saved: " + reason);
    }

    /** Waits for the temporary directory, runs {@code fault} and writes the shard of rank 1. */
    private SaveResult afterFault(Fault fault) throws IOException, InterruptedException {
        while (Files.notExists(temporary.resolve("run"))) {
            Thread.sleep(1);
        }
        fault.run();
        return write(1, 2, CheckpointFixtures.TIMEOUT, "this run");
    }

    private String writingRun() throws IOException {
        try {
            return Files.readString(temporary.resolve("run"));
        } catch (NoSuchFileException e) {
            return "none";
        }
    }

    /** Causes a failure. */
    private interface Fault {
        void run() throws IOException;
    }

    @Test
    void aPeersDiskIsFull() throws IOException {
        List<SaveResult> results = CheckpointFixtures.together(List.of(
            () -> write(0, 2, CheckpointFixtures.TIMEOUT, "this run"),
            () -> writer(1, 2, CheckpointFixtures.TIMEOUT, "this run").write(5, VAST, CheckpointFixtures.METADATA)));
        String reason = failed("rank 1: cannot write shard " + temporary.resolve("rank-00001.safetensors")
            + ": No space left on device: " + (4L << 60) + " bytes are needed").toString();
        for (SaveResult result : results) {
            assertTrue(result.toString().startsWith(reason.substring(0, reason.length() - 1)), result.toString());
        }
        assertOnlyTheOlderCheckpoint();
    }

    @Test
    void rankZeroCannotWriteTheManifest() throws IOException {
        Path below = temporary.resolve("checkpoint.json/below");
        assertEquals(failed("cannot write " + path + ": Directory not empty; " + REMEDY),
            CheckpointFixtures.together(List.of(
                () -> write(0, 2, CheckpointFixtures.TIMEOUT, "this run"),
                () -> afterFault(() -> Files.createDirectories(below)))).getFirst());
        assertOnlyTheOlderCheckpoint();
    }

    /** Another user who can write the temporary directory puts links in the place of its files. */
    @Test
    void linksAreNotFollowed() throws IOException {
        Path victim = Files.writeString(directory.resolve("victim"), "mine");
        assertEquals(List.of(new SaveResult.Done(path), new SaveResult.Done(path)), CheckpointFixtures.together(List.of(
            () -> write(0, 2, CheckpointFixtures.TIMEOUT, "this run"),
            () -> afterFault(() -> {
                for (String name : List.of("rank-00001.safetensors", "checkpoint.json")) {
                    Files.createSymbolicLink(temporary.resolve(name), victim);
                }
            }))));
        assertEquals("mine", Files.readString(victim));
        assertFalse(Files.isSymbolicLink(path.resolve("rank-00001.safetensors")));
        assertFalse(Files.isSymbolicLink(path.resolve("checkpoint.json")));
    }

    @Test
    void theDirectoryIsDeletedDuringTheWrite() throws IOException {
        TensorSlice vanishing = new TensorSlice("w", Shape.of(1), Shard.whole(), memory -> {
            try {
                CheckpointFiles.delete(temporary);
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        SaveResult result = CheckpointFixtures.writer(directory)
            .write(5, List.of(vanishing), CheckpointFixtures.METADATA);
        assertTrue(assertInstanceOf(SaveResult.Failed.class, result).reason().contains(
            "No such file or directory"), result.toString());
        assertOnlyTheOlderCheckpoint();
    }

    @Test
    void aFileIsInPlaceOfTheDirectory() throws IOException {
        Path file = Files.writeString(directory.resolve("file"), "mine");
        SaveResult result = CheckpointFixtures.writer(file)
            .write(5, CheckpointFixtures.pieces(Cut.WHOLE, 1, 0), CheckpointFixtures.METADATA);
        assertTrue(assertInstanceOf(SaveResult.Failed.class, result).reason().startsWith("checkpoint " + file
            + "/checkpoint-5 was not saved: cannot write " + file + "/checkpoint-5: File exists"), result.toString());
        assertEquals("mine", Files.readString(file));
    }

    @Test
    void aPeerTimesOut() throws IOException {
        assertEquals(failed("rank 1 has not written its shard within 0.3 s; check that process and its disk"),
            write(0, 2, SHORT, "this run"));
        assertOnlyTheOlderCheckpoint();
        assertEquals(failed("rank 0 has not created " + temporary + " within 0.3 s; check that process and its disk"),
            write(1, 2, SHORT, "a run without rank 0"));
        assertOnlyTheOlderCheckpoint();
    }

    /** Rank 0 may take long to delete old files before it creates the directory. */
    @Test
    void theWaitForTheAnnouncementIsLong() {
        List<Object> limits = new ArrayList<>();
        RankMessages messages = (RankMessages) Proxy.newProxyInstance(RankMessages.class.getClassLoader(),
            new Class<?>[] {RankMessages.class}, (_, method, arguments) -> {
                assertEquals("await", method.getName());
                limits.add(arguments[1]);
                return Optional.empty();
            });
        assertInstanceOf(SaveResult.Failed.class, new CheckpointWriter(directory, "this run", 1, messages,
            Duration.ofMinutes(10)).write(5, List.of(), CheckpointFixtures.METADATA));
        assertEquals(List.of(Duration.ofMinutes(10)), limits);
    }

    /** Rank 0 has created the directory before it announces it. */
    @Test
    void theWaitForTheDirectoryIsShort() {
        assertEquals(SHORT, writer(1, 2, SHORT, "this run").directoryTimeout());
        assertEquals(Duration.ofSeconds(30), writer(1, 2, Duration.ofHours(1), "this run").directoryTimeout());
    }

    /** Rank 2 has failed, and ranks 1 and 3 have not written their shards yet. */
    @Test
    void theFailureOfAnyRankEndsTheWait() throws IOException {
        List<SaveResult> results = CheckpointFixtures.together(List.of(
            () -> write(0, 4, CheckpointFixtures.TIMEOUT, "this run"),
            () -> writer(2, 4, CheckpointFixtures.TIMEOUT, "this run").write(5, VAST, CheckpointFixtures.METADATA)));
        String reason = failed("rank 2: cannot write shard ").toString();
        for (SaveResult result : results) {
            assertTrue(result.toString().startsWith(reason.substring(0, reason.length() - 1)), result.toString());
        }
        assertOnlyTheOlderCheckpoint();
    }

    /** The disk of rank 0 cannot be written: the others learn it at once. */
    @Test
    void rankZeroCannotBegin() throws IOException {
        Path file = Files.writeString(directory.resolve("file"), "mine");
        List<RankMessages> messages = ThreadMessages.of(2);
        List<SaveResult> results = CheckpointFixtures.together(IntStream.range(0, 2).mapToObj(rank ->
            (CheckpointFixtures.Save) () -> new CheckpointWriter(file, "this run", rank, messages.get(rank),
                CheckpointFixtures.TIMEOUT).write(5, List.of(), CheckpointFixtures.METADATA)).toList());
        assertEquals(new SaveResult.Failed("checkpoint " + file + "/checkpoint-5 was not saved: rank 0: cannot write "
            + file + "/.checkpoint-5.tmp: File exists; " + REMEDY), results.getLast());
        assertEquals("mine", Files.readString(file));
    }

    /** Rank 1 sees another file system than rank 0. */
    @Test
    void aRankDoesNotSeeTheDirectory(@TempDir Path elsewhere) throws IOException {
        List<RankMessages> messages = ThreadMessages.of(2);
        List<SaveResult> results = CheckpointFixtures.together(List.of(
            () -> new CheckpointWriter(directory, "this run", 0, messages.getFirst(), CheckpointFixtures.TIMEOUT)
                .write(5, List.of(), CheckpointFixtures.METADATA),
            () -> new CheckpointWriter(elsewhere, "this run", 1, messages.getLast(), SHORT)
                .write(5, List.of(), CheckpointFixtures.METADATA)));
        assertEquals(failed("rank 1: it does not see " + elsewhere.resolve(".checkpoint-5.tmp")
            + ", which rank 0 has created; give a directory that all ranks see, with --expdir"), results.getFirst());
        assertOnlyTheOlderCheckpoint();
    }

    @Test
    void aWriterIsInterrupted() throws IOException {
        Thread.currentThread().interrupt();
        SaveResult result = write(1, 2, CheckpointFixtures.TIMEOUT, "this run");
        assertTrue(Thread.interrupted());
        assertInstanceOf(SaveResult.Failed.class, result);
        assertOnlyTheOlderCheckpoint();
    }

    @Test
    void aSliceIsMissing() throws IOException {
        TensorSlice half = CheckpointFixtures.piece("w", Shape.of(4, 2), new Shard(0, 2, 1));
        assertEquals(failed("tensor w has 1 of 2 slices"),
            CheckpointFixtures.writer(directory).write(5, List.of(half), CheckpointFixtures.METADATA));
        assertOnlyTheOlderCheckpoint();
    }

    @Test
    void twoRunsSaveTheSameIteration() throws IOException {
        List<SaveResult> results = CheckpointFixtures.together(List.of(
            () -> write(0, 2, CheckpointFixtures.TIMEOUT, "this run"),
            () -> {
                while (!writingRun().contains("this run")) {
                    Thread.sleep(1);
                }
                return write(0, 2, SHORT, "other run");
            },
            () -> {
                while (!writingRun().contains("other run")) {
                    Thread.sleep(1);
                }
                return write(1, 2, Duration.ofMillis(100), "this run");
            }));
        String another = "another run writes its checkpoints into " + directory + ", or has removed the files of "
            + "this run; stop one of the two, or choose another directory with --expdir";
        assertEquals(failed(another), results.getFirst());
        assertEquals(failed("rank 1 has not written its shard within 0.3 s; check that process and its disk"),
            results.get(1));
        assertEquals(failed(another), results.get(2));
        assertOnlyTheOlderCheckpoint();
    }
}
