package org.isobar.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Moves later checkpoints out of the way of a run, and repairs replacements that were killed. */
class CheckpointDirectoryTest {
    @TempDir
    private Path run;
    private Path directory;

    @BeforeEach
    void name() {
        directory = run.resolve("checkpoints");
    }

    @Test
    void checkpointsMoveToTheFirstFreeName() throws IOException {
        CheckpointFixtures.save(directory, 7);
        CheckpointFixtures.save(directory, 9);
        assertEquals(Optional.of(run.resolve("checkpoints-1")), CheckpointDirectory.setAside(directory, -1));
        assertFalse(Files.exists(directory));
        Files.createDirectory(run.resolve("checkpoints-2")); // empty, so that a rename could replace it
        Files.createSymbolicLink(run.resolve("checkpoints-3"), run.resolve("nowhere"));
        CheckpointFixtures.save(directory, 8);
        assertEquals(Optional.of(run.resolve("checkpoints-4")), CheckpointDirectory.setAside(directory, -1));
        assertEquals(Set.of("checkpoint-7", "checkpoint-9"), CheckpointTest.names(run.resolve("checkpoints-1")));
        assertEquals(Set.of("checkpoint-8"), CheckpointTest.names(run.resolve("checkpoints-4")));
        try (Checkpoint kept = Checkpoint.open(run.resolve("checkpoints-1/checkpoint-9"))) {
            assertEquals(List.of(), kept.verify());
        }
    }

    @Test
    void earlierCheckpointsStay() throws IOException {
        for (int iteration : new int[] {7, 8, 9}) {
            CheckpointFixtures.save(directory, iteration);
        }
        assertEquals(Optional.of(run.resolve("checkpoints-1")), CheckpointDirectory.setAside(directory, 7));
        assertEquals(Set.of("checkpoint-7"), CheckpointTest.names(directory));
        assertEquals(Set.of("checkpoint-8", "checkpoint-9"), CheckpointTest.names(run.resolve("checkpoints-1")));
        assertEquals(Optional.empty(), CheckpointDirectory.setAside(directory, 7));
    }

    /** The link to another disk stays, and the checkpoints stay on that disk. */
    @Test
    void aLinkedDirectoryIsEmptied(@TempDir Path disk) throws IOException {
        Path real = Files.createDirectory(disk.toRealPath().resolve("scratch"));
        Files.createSymbolicLink(directory, real);
        for (int iteration : new int[] {7, 8, 9}) {
            CheckpointFixtures.save(directory, iteration);
        }
        assertEquals(Optional.of(real.resolveSibling("scratch-1")), CheckpointDirectory.setAside(directory, 7));
        assertEquals(Optional.of(real.resolveSibling("scratch-2")), CheckpointDirectory.setAside(directory, -1));
        assertEquals(Set.of("checkpoint-8", "checkpoint-9"), CheckpointTest.names(disk.resolve("scratch-1")));
        assertEquals(Set.of("checkpoint-7"), CheckpointTest.names(disk.resolve("scratch-2")));
        assertEquals(Set.of("checkpoints"), CheckpointTest.names(run));
        CheckpointFixtures.save(directory, 5);
        assertEquals(Set.of("checkpoint-5"), CheckpointTest.names(real));
    }

    @Test
    void damagedCheckpointsMoveToo() throws IOException {
        Files.writeString(Files.createDirectories(directory).resolve("checkpoint-3"), "not even a directory");
        assertEquals(Optional.of(run.resolve("checkpoints-1")), CheckpointDirectory.setAside(directory, -1));
        assertTrue(Files.exists(run.resolve("checkpoints-1/checkpoint-3")));
    }

    @Test
    void withoutCheckpointsNothingMoves() throws IOException {
        assertEquals(Optional.empty(), CheckpointDirectory.setAside(directory, -1));
        Files.createDirectories(directory.resolve(".checkpoint-3.tmp"));
        Files.createFile(directory.resolve("checkpoint-last"));
        assertEquals(Optional.empty(), CheckpointDirectory.setAside(directory, -1));
        assertEquals(Set.of("checkpoints"), CheckpointTest.names(run));
    }

    @Test
    void theDirectoryMayBeARelativePath() throws IOException {
        Path here = Path.of("").toAbsolutePath().relativize(directory.toAbsolutePath());
        Files.createDirectories(directory.resolve("checkpoint-1"));
        assertEquals(Optional.of(here.resolveSibling("checkpoints-1")), CheckpointDirectory.setAside(here, -1));
        assertTrue(Files.exists(run.resolve("checkpoints-1/checkpoint-1")));
    }

    @Test
    void aFileHoldsNoCheckpoints() throws IOException {
        Files.writeString(directory, "mine"); // a writer reports what is wrong
        CheckpointDirectory.recover(directory);
        assertEquals(Optional.empty(), CheckpointDirectory.setAside(directory, -1));
        assertEquals(Set.of("checkpoints"), CheckpointTest.names(run));
        assertEquals("mine", Files.readString(directory));
    }

    @Test
    void anUnreadableDirectoryIsReported() throws IOException {
        Files.createSymbolicLink(directory, directory);
        String reason = directory + ": Too many levels of symbolic links";
        String message = assertThrows(UserException.class, () -> CheckpointDirectory.setAside(directory, -1))
            .getMessage();
        assertTrue(message.startsWith("cannot read checkpoints in " + reason), message);
        message = assertThrows(UserException.class, () -> CheckpointDirectory.recover(directory)).getMessage();
        assertTrue(message.startsWith("cannot write directory " + reason), message);
    }

    /** Leaves the files of a replacement that was killed between its two renames. */
    private void killReplacement(long iteration) throws IOException {
        Path old = CheckpointFixtures.save(directory, iteration);
        Files.move(old, directory.resolve(CheckpointFiles.replaced(iteration)));
        Files.move(CheckpointFixtures.save(directory.resolve("new"), iteration),
            directory.resolve(CheckpointFiles.temporary(iteration)));
        Files.delete(directory.resolve("new"));
    }

    private void assertUndamaged(String name) {
        try (Checkpoint checkpoint = Checkpoint.open(directory.resolve(name))) {
            assertEquals(List.of(), checkpoint.verify());
        }
    }

    @Test
    void recoveryUndoesAKilledReplacement() throws IOException {
        killReplacement(5);
        assertEquals(List.of(), Checkpoint.list(directory));
        CheckpointDirectory.recover(directory);
        assertEquals(Set.of("checkpoint-5", ".checkpoint-5.tmp"), CheckpointTest.names(directory));
        assertUndamaged("checkpoint-5");
        CheckpointFixtures.save(directory, 6);
        assertEquals(Set.of("checkpoint-5", "checkpoint-6"), CheckpointTest.names(directory));
    }

    @Test
    void theNextSaveUndoesAKilledReplacement() throws IOException {
        killReplacement(5);
        CheckpointFixtures.save(directory, 6);
        assertEquals(Set.of("checkpoint-5", "checkpoint-6"), CheckpointTest.names(directory));
        assertUndamaged("checkpoint-5");
    }

    @Test
    void recoveryKeepsACompletedReplacement() throws IOException {
        CheckpointFixtures.save(directory, 5);
        Path replaced = Files.createDirectory(directory.resolve(CheckpointFiles.replaced(5)));
        Files.writeString(replaced.resolve("checkpoint.json"), "half deleted");
        CheckpointDirectory.recover(directory);
        assertEquals(Set.of("checkpoint-5"), CheckpointTest.names(directory));
        assertUndamaged("checkpoint-5");
    }

    @Test
    void recoveryMayHaveNothingToDo() throws IOException {
        CheckpointDirectory.recover(directory);
        assertFalse(Files.exists(directory));
        CheckpointFixtures.save(directory, 5);
        CheckpointDirectory.recover(directory);
        assertEquals(Set.of("checkpoint-5"), CheckpointTest.names(directory));
    }
}
