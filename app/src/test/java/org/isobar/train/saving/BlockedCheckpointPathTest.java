package org.isobar.train.saving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.isobar.train.OutputTrigger;
import org.isobar.train.ThreadJob;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Other files are in the place of checkpoints: they stay, the log has a warning, and the run continues to its end. */
class BlockedCheckpointPathTest {
    private static final String EPOCHS = "num_iters=36";

    @TempDir
    private static Path data;
    @TempDir
    private Path logs;
    private Path run;
    private Path checkpoints;

    @BeforeAll
    static void synthesize() {
        TinyRun.synthesize(data);
    }

    @BeforeEach
    void setUp() throws IOException {
        run = Files.createDirectories(TinyRun.directory(logs));
        checkpoints = run.resolve("checkpoints");
    }

    private static List<String> warnings(TinyRun run) {
        return run.screen().lines().filter(line -> line.contains(" - WARNING - checkpoint ")
            && line.contains(" was not saved: ")).toList();
    }

    @Test
    void fileNamedCheckpoints() throws IOException {
        Files.writeString(checkpoints, "mine");
        TinyRun ended = TinyRun.of(data, logs, "num_iters=12", "resume=auto").succeeded();
        assertEquals(2, warnings(ended).size(), ended.screen()); // at the start, and after the epoch
        assertTrue(warnings(ended).getLast().contains("checkpoint " + checkpoints + "/checkpoint-12 was not saved: "
            + "cannot write " + checkpoints + "/checkpoint-12: File exists; free space"), ended.screen());
        assertEquals("mine", Files.readString(checkpoints));
    }

    /** The directory appears during training and prevents one checkpoint. */
    @Test
    void otherDirectoryInPlaceOfACheckpoint() throws IOException {
        Path foreign = checkpoints.resolve("checkpoint-24");
        TinyRun ended = TinyRun.of(data, logs, screen -> OutputTrigger.after("Time taken for epoch 2", screen, () -> {
            Files.createDirectories(foreign);
            Files.writeString(foreign.resolve("thesis.txt"), "mine");
        }), EPOCHS).succeeded();
        assertEquals(1, warnings(ended).size(), ended.screen());
        assertTrue(warnings(ended).getFirst().contains(foreign + " exists and is not a checkpoint; move it away"),
            ended.screen());
        assertEquals("mine", Files.readString(foreign.resolve("thesis.txt")));
        assertEquals(List.of("checkpoint-12", "checkpoint-24", "checkpoint-36"), DirectoryTree.names(checkpoints));
        CheckpointAssertions.assertIntact(checkpoints.resolve("checkpoint-36"));
    }

    /** A directory that exists at the start is renamed with its contents. */
    @Test
    void otherDirectoryAtTheStart() throws IOException {
        Path foreign = Files.createDirectories(checkpoints.resolve("checkpoint-12"));
        Files.writeString(foreign.resolve("thesis.txt"), "mine");
        TinyRun ended = TinyRun.of(data, logs, "num_iters=12", "resume=auto").succeeded();
        assertEquals(List.of(), warnings(ended));
        assertTrue(ended.screen().contains("WARNING - checkpoint " + foreign + " cannot be used: it is incomplete, "
            + "or not an Isobar checkpoint"), ended.screen());
        assertEquals("mine", Files.readString(run.resolve("checkpoints-1/checkpoint-12/thesis.txt")));
        CheckpointAssertions.assertIntact(foreign);
    }

    /** Launchers kill rank 0 soon after another rank has failed: no rank ends before the weights are written. */
    @Test
    void ranksEndWhenTheWeightsAreWritten() throws Exception {
        Path ranksRun = TinyRun.jobConfig(data, logs, 2).output().experimentDirectory();
        Queue<Boolean> written = new ConcurrentLinkedQueue<>();
        ThreadJob.of(data, logs, screen ->
            OutputTrigger.after("Starting Training Loop", OutputTrigger.after("Interrupted: ", screen, () ->
                written.add(Files.exists(ranksRun.resolve("model.safetensors")))), () -> {
                    Path foreign = Files.createDirectories(ranksRun.resolve("checkpoints/checkpoint-6"));
                    Files.writeString(foreign.resolve("thesis.txt"), "mine");
                }), List.of(StopAfterPolls.from(5), StopRequest.NONE), EPOCHS).ended(1);
        assertEquals(List.of(true, true), List.copyOf(written));
    }

    /** The directory is deleted during training. */
    @Test
    void directoryThatIsDeleted() throws IOException {
        TinyRun ended = TinyRun.of(data, logs, screen -> OutputTrigger.after("Time taken for epoch 2", screen, () ->
            Files.move(checkpoints, run.resolve("elsewhere"))), EPOCHS).succeeded();
        assertTrue(warnings(ended).size() <= 1, ended.screen()); // the first checkpoint may still be being written
        assertTrue(DirectoryTree.names(checkpoints).contains("checkpoint-36"));
        CheckpointAssertions.assertIntact(checkpoints.resolve("checkpoint-36"));
    }
}
