package org.isobar.train.saving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import org.isobar.train.TinyRun;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A full or read-only disk costs at most one checkpoint, but neither the run nor an older checkpoint. */
@Execution(ExecutionMode.CONCURRENT)
class DiskFailureTest {
    private static final String THREE_EPOCHS = "num_iters=36";
    private static final String READ_ONLY = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\"";

    @TempDir
    private static Path data;
    @TempDir
    private Path directory;
    private Path logs;
    private Path run;
    private Path checkpoints;

    @BeforeAll
    static void synthesize() throws IOException, InterruptedException {
        LimitedDiskRun.assumePossible();
        TinyRun.synthesize(data);
    }

    @BeforeEach
    void setUp() throws IOException {
        logs = directory.resolve("logs");
        run = TinyRun.directory(logs);
        checkpoints = Files.createDirectories(run.resolve("checkpoints"));
    }

    private static String tmpfs(String size) {
        return "mount -t tmpfs -o size=" + size + " tmpfs \"$0\"";
    }

    /** Fails unless only the second checkpoint could not be written, with {@code also} as further warnings. */
    private void assertOneLost(LimitedDiskRun ended, String... also) {
        assertEquals(0, ended.code(), ended.screen());
        List<String> warnings = ended.lines("WARNING").stream().filter(line -> line.contains("checkpoint")).toList();
        assertEquals(1 + also.length, warnings.size(), ended.screen());
        for (int i = 0; i < also.length; i++) {
            assertTrue(warnings.get(1 + i).contains(also[i]), warnings.get(1 + i));
        }
        assertTrue(warnings.getFirst().contains("checkpoint " + checkpoints + "/checkpoint-24 was not saved: ")
            && warnings.getFirst().contains("No space left on device"), warnings.getFirst());
        assertEquals(List.of(), ended.lines("ERROR"));
    }

    /** The disk has only checkpoints, and no temporary files at the time of the warning. */
    @Test
    void diskThatFills() throws Exception {
        LimitedDiskRun ended = LimitedDiskRun.run(tmpfs("5m"), checkpoints, data, logs, 0, THREE_EPOCHS, "keep=4");
        assertOneLost(ended);
        assertTrue(ended.screen()
            .endsWith(LimitedDiskRun.FILES_AT_WARNING + "[ballast, checkpoint-0, checkpoint-12]\n"),
            ended.screen());
        Path copy = directory.resolve("copy");
        assertEquals(List.of("checkpoint-0", "checkpoint-12", "checkpoint-36"), DirectoryTree.names(copy));
        for (String name : DirectoryTree.names(copy)) {
            CheckpointAssertions.assertIntact(copy.resolve(name));
        }
    }

    /** The free space suffices for log and events but not for a checkpoint. The failed attempt frees its space. */
    @Test
    void diskOfTheLogIsNearlyFull() throws Exception {
        LimitedDiskRun ended = LimitedDiskRun.run(tmpfs("8m"), logs, data, logs, 350_000, THREE_EPOCHS, "keep=3");
        assertOneLost(ended);
        assertTrue(ended.screen().endsWith(LimitedDiskRun.FILES_AT_WARNING + "[checkpoint-0, checkpoint-12]\n"),
            ended.screen());
        CheckpointAssertions.assertIntact(copied("checkpoints/checkpoint-36"));
        assertTrue(Files.readString(copied("out.log")).contains(" was not saved: "));
    }

    /** Old checkpoints that the new one replaces are deleted before it is written if the disk has no room for both. */
    @Test
    void oldCheckpointsMakeRoom() throws Exception {
        LimitedDiskRun ended = LimitedDiskRun.run(tmpfs("8m"), logs, data, logs, 350_000, THREE_EPOCHS);
        assertEquals(0, ended.code(), ended.screen());
        assertTrue(ended.screen().contains("The disk is full: deleted checkpoint-0 to save checkpoint-24"),
            ended.screen());
        assertTrue(ended.screen().contains("The disk is full: deleted checkpoint-12 to save checkpoint-36"),
            ended.screen());
        assertFalse(ended.screen().contains("was not saved"), ended.screen());
        for (String name : List.of("checkpoint-24", "checkpoint-36")) {
            CheckpointAssertions.assertIntact(copied("checkpoints/" + name));
        }
        assertTrue(Files.exists(copied("model.safetensors")));
    }

    @Test
    void withoutRoomForTheLastCheckpointTheWeightsAreSaved() throws Exception {
        LimitedDiskRun ended = LimitedDiskRun.run(tmpfs("8m"), logs, data, logs, 350_000, "num_iters=24", "keep=4");
        assertOneLost(ended, "The last checkpoint is missing: the trained weights alone are in "
            + run.resolve("model.safetensors"));
        assertTrue(Files.exists(copied("model.safetensors")));
    }

    /** If log or events cannot be written, the run ends with one error, and saved checkpoints stay. */
    @Test
    void diskOfTheLogIsFull() throws Exception {
        LimitedDiskRun ended = LimitedDiskRun.run(tmpfs("8m"), logs, data, logs, 0, THREE_EPOCHS);
        assertEquals(2, ended.code(), ended.screen());
        assertEquals(1, ended.lines("ERROR").size(), ended.screen());
        assertTrue(ended.lines("ERROR").getFirst().matches(".* cannot write (log|TensorBoard events to) .*: "
            + "No space left on device; free space, .*"), ended.screen());
        assertEquals(List.of("checkpoint-0", "checkpoint-12"), DirectoryTree.names(copied("checkpoints")));
        CheckpointAssertions.assertIntact(copied("checkpoints/checkpoint-12"));
    }

    @Test
    void readOnlyCheckpointDirectory() throws Exception {
        LimitedDiskRun ended = LimitedDiskRun.run(READ_ONLY, checkpoints, data, logs, -1, "num_iters=24");
        assertEquals(0, ended.code(), ended.screen());
        List<String> warnings = ended.lines("WARNING").stream().filter(line -> line.contains(" was not saved: "))
            .toList();
        assertEquals(3, warnings.size(), ended.screen());
        assertTrue(warnings.getFirst().contains("/checkpoint-0: Read-only file system"), ended.screen());
        assertEquals(List.of(), DirectoryTree.names(checkpoints));
    }

    @Test
    void readOnlyRunDirectory() throws Exception {
        LimitedDiskRun ended = LimitedDiskRun.run(READ_ONLY, run, data, logs, -1, "num_iters=24");
        assertEquals(2, ended.code(), ended.screen());
        assertEquals(1, ended.lines("ERROR").size(), ended.screen());
        assertTrue(ended.lines("ERROR").getFirst().contains("cannot write lock " + run
            + "/.checkpoints.lock: Read-only file system"), ended.screen());
        assertEquals(List.of("checkpoints"), DirectoryTree.names(run));
    }

    private Path copied(String name) {
        return directory.resolve("copy").resolve(logs.relativize(run)).resolve(name);
    }
}
