package org.isobar.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.isobar.checkpoint.Checkpoint.IntegrityCheck;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Distinguishes a checkpoint, a directory of checkpoints and a run's directory. */
class CheckpointPathTest {
    @TempDir
    private Path run;
    private Path checkpoints;
    private Path ninth;
    private Path tenth;

    @BeforeEach
    void save() {
        checkpoints = run.resolve(CheckpointPath.DIRECTORY);
        ninth = CheckpointFixtures.save(checkpoints, 9);
        tenth = CheckpointFixtures.save(checkpoints, 10);
    }

    private Path opened(Path path, IntegrityCheck check, List<String> skipped) {
        try (Checkpoint checkpoint = new CheckpointPath(path).open(check, skipped::add)) {
            return checkpoint.path();
        }
    }

    private String refused(Path path) {
        return assertThrows(UserException.class, () -> opened(path, IntegrityCheck.SIZES, new ArrayList<>()))
            .getMessage();
    }

    @Test
    void opensTheNewestOfSeveral() {
        for (Path path : List.of(run, checkpoints)) {
            assertEquals(List.of(tenth, ninth), new CheckpointPath(path).all());
            assertEquals(tenth, opened(path, IntegrityCheck.SIZES, new ArrayList<>()));
        }
        assertEquals(List.of(ninth), new CheckpointPath(ninth).all());
        assertEquals(ninth, opened(ninth, IntegrityCheck.SIZES, new ArrayList<>()));
    }

    @Test
    void aDamagedCheckpointIsSkippedAmongSeveralAndRefusedAlone() throws IOException {
        Damage.flip(tenth.resolve("rank-00000.safetensors"), 40_000);
        List<String> skipped = new ArrayList<>();
        assertEquals(ninth, opened(run, IntegrityCheck.CHECKSUMS, skipped));
        assertEquals(List.of("checkpoint " + tenth + " cannot be used: rank-00000.safetensors: bytes 0 to 1048575 are "
            + "damaged; give another one"), skipped);
        assertEquals(tenth, opened(run, IntegrityCheck.SIZES, new ArrayList<>()));
        assertThrows(UserException.class, () -> opened(tenth, IntegrityCheck.CHECKSUMS, new ArrayList<>()));
        assertEquals(tenth, opened(tenth, IntegrityCheck.SIZES, new ArrayList<>()));
    }

    @Test
    void aCheckpointMayHaveAnotherName() throws IOException {
        Path best = Files.move(tenth, run.resolve("best"));
        assertEquals(best, opened(best, IntegrityCheck.SIZES, new ArrayList<>()));
    }

    @Test
    void reportsMissingAndIncompleteCheckpoints() throws IOException {
        Path none = run.resolve("none");
        assertEquals("cannot read checkpoint " + none + ": No such file or directory; check the path and its "
            + "permissions", refused(none));
        Path empty = Files.createDirectory(none);
        assertEquals("checkpoint " + empty
            + " cannot be used: it is incomplete, or not an Isobar checkpoint: it has no "
            + "checkpoint.json; give another one", refused(empty));
        Path file = Files.createFile(run.resolve("file"));
        assertEquals("cannot read checkpoint " + file + ": Not a directory; check the path and its permissions",
            refused(file));
        Files.delete(ninth.resolve(CheckpointManifest.FILE));
        Files.delete(tenth.resolve(CheckpointManifest.FILE));
        assertEquals("every checkpoint in " + checkpoints + " is damaged or incomplete; give another directory",
            refused(run));
        assertEquals("checkpoint " + ninth
            + " cannot be used: it is incomplete, or not an Isobar checkpoint: it has no "
            + "checkpoint.json; give another one", refused(ninth));
    }
}
