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

/** A run that begins anew finds no checkpoints, and old ones are kept. */
class CheckpointsTest {
    @TempDir
    private Path run;
    private Path directory;

    @BeforeEach
    void name() {
        directory = run.resolve("checkpoints");
    }

    @Test
    void checkpointsAreSetAsideUnderTheFirstFreeName() throws IOException {
        Saving.save(directory, 7);
        Saving.save(directory, 9);
        assertEquals(Optional.of(run.resolve("checkpoints-1")), Checkpoints.setAside(directory, -1));
        assertFalse(Files.exists(directory));
        Files.createDirectory(run.resolve("checkpoints-2")); // which a rename could replace, being empty
        Files.createSymbolicLink(run.resolve("checkpoints-3"), run.resolve("nowhere"));
        Saving.save(directory, 8);
        assertEquals(Optional.of(run.resolve("checkpoints-4")), Checkpoints.setAside(directory, -1));
        assertEquals(Set.of("checkpoint-7", "checkpoint-9"), CheckpointTest.names(run.resolve("checkpoints-1")));
        assertEquals(Set.of("checkpoint-8"), CheckpointTest.names(run.resolve("checkpoints-4")));
        try (Checkpoint kept = Checkpoint.open(run.resolve("checkpoints-1/checkpoint-9"))) {
            assertEquals(List.of(), kept.verify());
        }
    }

    @Test
    void aRunThatGoesBackKeepsWhatItGoesOnFrom() throws IOException {
        for (int iteration : new int[] {7, 8, 9}) {
            Saving.save(directory, iteration);
        }
        assertEquals(Optional.of(run.resolve("checkpoints-1")), Checkpoints.setAside(directory, 7));
        assertEquals(Set.of("checkpoint-7"), CheckpointTest.names(directory));
        assertEquals(Set.of("checkpoint-8", "checkpoint-9"), CheckpointTest.names(run.resolve("checkpoints-1")));
        assertEquals(Optional.empty(), Checkpoints.setAside(directory, 7));
    }

    @Test
    void whatIsDamagedIsKeptToo() throws IOException {
        Files.writeString(Files.createDirectories(directory).resolve("checkpoint-3"), "not even a directory");
        assertEquals(Optional.of(run.resolve("checkpoints-1")), Checkpoints.setAside(directory, -1));
        assertTrue(Files.exists(run.resolve("checkpoints-1/checkpoint-3")));
    }

    @Test
    void thereMayBeNothingToSetAside() throws IOException {
        assertEquals(Optional.empty(), Checkpoints.setAside(directory, -1));
        Files.createDirectories(directory.resolve(".checkpoint-3.tmp"));
        Files.createFile(directory.resolve("checkpoint-last"));
        assertEquals(Optional.empty(), Checkpoints.setAside(directory, -1));
        assertEquals(Set.of("checkpoints"), CheckpointTest.names(run));
    }

    @Test
    void aNameMayBeRelativeToTheCurrentDirectory() throws IOException {
        Path here = Path.of("").toAbsolutePath().relativize(directory.toAbsolutePath());
        Files.createDirectories(directory.resolve("checkpoint-1"));
        assertEquals(Optional.of(here.resolveSibling("checkpoints-1")), Checkpoints.setAside(here, -1));
        assertTrue(Files.exists(run.resolve("checkpoints-1/checkpoint-1")));
    }

    @Test
    void aPlaceThatIsNoDirectoryIsAUsersMistake() throws IOException {
        Files.createFile(directory);
        String message = assertThrows(UserException.class, () -> Checkpoints.setAside(directory, -1)).getMessage();
        assertTrue(message.startsWith("cannot read checkpoints in " + directory + ": Not a directory"), message);
    }
}
