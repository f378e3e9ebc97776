package org.isobar.checkpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

import org.isobar.checkpoint.CheckpointFixtures.Cut;
import org.isobar.distributed.Shard;
import org.isobar.tensor.Shape;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which files a new checkpoint replaces, and which checkpoints are kept. */
class ReplacedCheckpointTest {
    @TempDir
    private Path directory;

    private Set<String> names() throws IOException {
        return CheckpointTest.names(directory);
    }

    @Test
    void filesOfAKilledRunAreReplaced() throws IOException {
        CheckpointFixtures.save(directory, 4);
        Path abandoned = Files.createDirectories(directory.resolve(".checkpoint-5.tmp"));
        Files.writeString(abandoned.resolve("run"), "\"an earlier run\"");
        Files.writeString(abandoned.resolve("rank-00001.json"), "{");
        Files.writeString(abandoned.resolve("rank-00007.safetensors"), "half");
        Files.createDirectories(directory.resolve(".checkpoint-3.tmp"));
        Files.createDirectories(directory.resolve(".checkpoint-4.replaced.tmp/below"));
        CheckpointFixtures.save(directory, 5, Cut.ROWS, 2);
        assertEquals(Set.of("checkpoint-4", "checkpoint-5"), names());
        assertEquals(Set.of("checkpoint.json", "rank-00000.safetensors", "rank-00001.safetensors"),
            CheckpointTest.names(directory.resolve("checkpoint-5")));
    }

    @Test
    void aDamagedCheckpointOfTheSameIterationIsReplaced() throws IOException {
        CheckpointFixtures.save(directory, 5, Cut.ROWS, 2);
        Path path = directory.resolve("checkpoint-5");
        Files.writeString(path.resolve("checkpoint.json"), "damaged");
        CheckpointFixtures.save(directory, 5);
        assertEquals(Set.of("checkpoint-5"), names());
        assertEquals(Set.of("checkpoint.json", "rank-00000.safetensors"), CheckpointTest.names(path));
    }

    @Test
    void aFailedReplacementKeepsTheOldCheckpoint() throws IOException {
        Path path = CheckpointFixtures.save(directory, 5);
        byte[] before = Files.readAllBytes(path.resolve("checkpoint.json"));
        TensorSlice obstacle = new TensorSlice("w", Shape.of(1), Shard.whole(), memory -> {
            try { // a rename cannot replace a directory that is not empty
                Files.createDirectories(directory.resolve(".checkpoint-5.replaced.tmp/below"));
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        SaveResult result = CheckpointFixtures.writer(directory)
            .write(5, List.of(obstacle), CheckpointFixtures.METADATA);
        assertInstanceOf(SaveResult.Failed.class, result);
        assertEquals(Set.of("checkpoint-5"), names());
        assertArrayEquals(before, Files.readAllBytes(path.resolve("checkpoint.json")));
    }

    @Test
    void aForeignDirectoryIsNotReplaced() throws IOException {
        Path path = Files.createDirectories(directory.resolve("checkpoint-5"));
        Files.writeString(path.resolve("thesis.txt"), "mine");
        assertEquals(List.of(new SaveResult.Failed("checkpoint " + path + " was not saved: " + path
            + " exists and is not a checkpoint; move it away")),
            CheckpointFixtures.save(directory, 5, Cut.WHOLE, 1));
        assertEquals(Set.of("checkpoint-5"), names());
        assertEquals("mine", Files.readString(path.resolve("thesis.txt")));
    }

    @Test
    void newestAndBestCheckpointsAreKept() throws IOException {
        for (int iteration : new int[] {9, 10, 20, 100}) {
            CheckpointFixtures.save(directory, iteration);
        }
        Path incomplete = Files.createDirectories(directory.resolve("checkpoint-200"));
        Path elsewhere = CheckpointFixtures.save(directory.resolve("elsewhere"), 1);
        Files.createSymbolicLink(directory.resolve("checkpoint-2"), elsewhere);
        Path beside = Files.createDirectories(directory.resolve("beside"));
        Files.writeString(beside.resolve("file"), "mine");
        Files.createSymbolicLink(directory.resolve("checkpoint-10/link"), beside);
        List<String> warnings = new ArrayList<>();
        new CheckpointRetention(2).apply(directory, Set.of(9L), warnings::add);
        assertEquals(List.of(), warnings);
        assertEquals(Set.of("beside", "checkpoint-100", "checkpoint-2", "checkpoint-20", "checkpoint-200",
            "checkpoint-9", "elsewhere"), names());
        assertEquals("mine", Files.readString(beside.resolve("file")));
        assertEquals(Set.of("checkpoint.json", "rank-00000.safetensors"), CheckpointTest.names(elsewhere));
        assertEquals(Set.of(), CheckpointTest.names(incomplete));
        new CheckpointRetention(1).apply(directory, Set.of(), warnings::add);
        assertEquals(Set.of("beside", "checkpoint-100", "checkpoint-2", "checkpoint-200", "elsewhere"), names());
        assertThrows(IllegalArgumentException.class, () -> new CheckpointRetention(0));
    }

    @Test
    void aFailedDeletionIsAWarning() throws IOException {
        Path loop = directory.resolve("loop");
        Files.createSymbolicLink(loop, loop);
        List<String> warnings = new ArrayList<>();
        new CheckpointRetention(1).apply(loop, Set.of(), warnings::add);
        assertEquals(1, warnings.size(), warnings.toString());
        assertTrue(warnings.getFirst().startsWith("cannot read checkpoints in " + loop
            + ": Too many levels of symbolic links"), warnings.getFirst());
        assertTrue(warnings.getFirst().endsWith("; check the path and its permissions"), warnings.getFirst());
    }
}
