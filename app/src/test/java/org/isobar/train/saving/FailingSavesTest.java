package org.isobar.train.saving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

import org.isobar.checkpoint.Damage;
import org.isobar.os.HostMachine;
import org.isobar.train.FaultInjectingRank;
import org.isobar.train.FaultInjectingRank.Fault;
import org.isobar.train.ProcessJob;
import org.isobar.train.RunContext;
import org.isobar.train.StackPlace;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Jobs of processes in which saving or resuming fails on one rank. */
@Execution(ExecutionMode.CONCURRENT)
class FailingSavesTest {
    private static final Duration LIMIT = Duration.ofSeconds(15); // to detect a lost rank and to abandon a save
    private static final StackPlace SHARD = StackPlace.of("checkpoint.CheckpointWriter.writeShard");
    private static final String MAIN = "org.isobar.cli.Main";
    private static final String ENDLESS = "--num_iters=1200000";
    private static final String TWO_EPOCHS = "--num_iters=24";
    private static final String CUT = "--tensor_parallel=2"; // each rank writes a shard

    @TempDir
    private static Path data;
    private static TinyRun half;
    @TempDir
    private Path directory;

    @BeforeAll
    static void train() {
        TinyRun.synthesize(data);
        half = TinyRun.of(data, data.resolve("logs"), "num_iters=24").succeeded();
    }

    private static Path checkpoint() {
        return half.directory().resolve("checkpoints/checkpoint-12");
    }

    private static List<String> errors(ProcessJob job, int index) {
        return job.shown(index).lines().filter(line -> line.contains(" - ERROR - ")).toList();
    }

    @Tag("slow")
    @ParameterizedTest
    @CsvSource({"KILL, 0", "STOP, 0", "STOP, 1", "EXIT, 1"})
    void everyRankMayFailWhileWriting(Fault fault, int culprit) throws Exception {
        rankFailsWhileWriting(fault, culprit);
    }

    /** After a first save, one rank fails while it writes its share of the last checkpoint. */
    @ParameterizedTest
    @CsvSource("KILL, 1")
    void rankFailsWhileWriting(Fault fault, int culprit) throws Exception {
        Path run = directory.resolve("runs/tiny/2MP/00");
        Path checkpoints = run.resolve("checkpoints");
        DirectoryTree.copy(checkpoint(), checkpoints.resolve("checkpoint-12"));
        try (ProcessJob job = new ProcessJob(data, directory)) {
            for (int rank = 0; rank < 2; rank++) {
                job.start(FaultInjectingRank.class.getName(), rank, rank != culprit ? Map.of("WORLD_SIZE", "2")
                    : Map.of("WORLD_SIZE", "2", "FAULT", fault.name(), "FAULT_THREAD", AsyncCheckpointWriter.THREAD,
                        "FAULT_AT", SHARD.toString()), TWO_EPOCHS, CUT, "--resume=auto");
            }
            job.awaitShown(culprit, FaultInjectingRank.ANNOUNCEMENT);
            assertEquals(1, job.code(1 - culprit, LIMIT), job.screens());
            assertEquals(1, errors(job, 1 - culprit).size(), job.screens());
            assertTrue(errors(job, 1 - culprit).getFirst().contains("rank " + culprit
                + (fault == Fault.STOP ? " sends no heartbeat" : " has died")), job.screens());
            assertFalse(job.shown(0).contains(" was not saved: "), job.screens());
            if (fault == Fault.STOP) {
                job.resume(culprit);
            }
            assertNotEquals(0, job.code(culprit, LIMIT), job.screens());
            if (culprit != 0) { // else the next writer deletes the leftovers
                assertEquals(List.of("checkpoint-12"), DirectoryTree.names(checkpoints));
            }
            CheckpointAssertions.assertIntact(checkpoints.resolve("checkpoint-12"));
        }
    }

    @Test
    void diskOfOneRankIsFullOnStop() throws Exception {
        stopWith(Disk.FULL);
    }

    @Tag("slow")
    @Test
    void diskOfOneRankIsFreedBeforeStop() throws Exception {
        stopWith(Disk.MENDED);
    }

    private enum Disk { FULL, MENDED }

    /** Limits the file size on one rank to a few bytes, like a quota, then stops the job; may lift the limit before. */
    private void stopWith(Disk disk) throws Exception {
        boolean mended = disk == Disk.MENDED;
        int code = mended ? RunContext.INTERRUPTED : 1;
        try (ProcessJob job = new ProcessJob(data, directory)) {
            job.start(0, 2, ENDLESS, CUT);
            job.start(1, 2, ENDLESS, CUT);
            job.awaitShown(0, "Starting Training Loop");
            limitFiles(job, 1, "1000");
            job.awaitShown(0, "rank 1: cannot write shard ");
            job.awaitShown(0, "Time taken for epoch 3");
            if (mended) {
                limitFiles(job, 1, "unlimited");
            }
            job.process(0).destroy();
            job.process(1).destroy();
            assertEquals(List.of(code, code), List.of(job.code(0), job.code(1)), job.screens());
            for (int rank = 0; rank < 2; rank++) {
                assertEquals(mended ? 0 : 1, errors(job, rank).size(), job.screens());
                assertTrue(mended || errors(job, rank).getFirst().contains("Interrupted: the steps since the last "
                    + "checkpoint are lost: "), job.screens());
            }
            Path checkpoints = job.directory().resolve("checkpoints");
            for (String name : DirectoryTree.names(checkpoints)) {
                CheckpointAssertions.assertIntact(checkpoints.resolve(name)); // no temporary files
            }
            Path weights = job.directory().resolve("model.safetensors");
            assertEquals(!mended, Files.exists(weights), job.screens());
            assertEquals(!mended, job.shown(0).contains("; the trained weights alone are in " + weights),
                job.screens());
            assertEquals(mended, job.shown(0).contains("go on with --resume=auto"), job.screens());
        }
    }

    /** Sets the soft limit of a running process (setrlimit(2)), which its owner may also lift again. */
    private static void limitFiles(ProcessJob job, int index, String bytes) throws IOException, InterruptedException {
        assertEquals(0, new ProcessBuilder("prlimit", "--pid", String.valueOf(job.process(index).pid()),
            "--fsize=" + bytes + ":").inheritIO().start().waitFor());
    }

    /** The checkpoint is damaged after rank 0 has chosen it, while rank 0 waits for rank 1. */
    @Test
    void checkpointIsDamagedBeforeTheRanksMeet() throws Exception {
        Path path = directory.resolve("checkpoint-12");
        DirectoryTree.copy(checkpoint(), path);
        try (ProcessJob job = new ProcessJob(data, directory)) {
            job.start(0, 2, TWO_EPOCHS, "--resume=" + path);
            job.awaitShown(0, "Setting DP");
            Damage.flip(path.resolve("rank-00000.safetensors"), 8 * 100_000);
            job.start(1, 2, TWO_EPOCHS, "--resume=" + path);
            List<Integer> codes = List.of(job.code(0), job.code(1));
            assertTrue(codes.contains(2) && List.of(1, 2).containsAll(codes), job.screens());
            for (int rank = 0; rank < 2; rank++) {
                assertEquals(1, errors(job, rank).size(), job.screens());
                assertTrue(errors(job, rank).getFirst().contains("checkpoint " + path + " cannot be used: "
                    + "rank-00000.safetensors: bytes 0 to "), job.screens());
            }
            assertFalse(Files.exists(job.directory().resolve("checkpoints")));
            assertEquals(List.of(), DirectoryTree.contents(job.directory()).stream()
                .filter(file -> !file.startsWith("out.log")).toList());
        }
    }

    @Test
    void secondRunInTheSameDirectoryIsRefused() throws Exception {
        try (ProcessJob job = new ProcessJob(data, directory)) {
            job.start(MAIN, 0, Map.of("WORLD_SIZE", "1"), ENDLESS);
            job.awaitShown(0, "Time taken for epoch 1");
            job.start(MAIN, 0, Map.of("WORLD_SIZE", "1"), ENDLESS, "--resume=auto");
            assertEquals(2, job.code(1), job.screens());
            assertEquals(1, errors(job, 1).size(), job.screens());
            assertTrue(errors(job, 1).getFirst().contains("another run writes into " + job.directory() + ": process "
                + job.process(0).pid() + " on " + HostMachine.name() + ", since "), job.screens());
            job.awaitShown(0, "Time taken for epoch 2");
            job.process(0).destroyForcibly();
            assertNotEquals(0, job.code(0));
            assertTrue(job.shown(0).endsWith(Files.readString(job.directory().resolve("out.log"))), job.screens());
            job.start(MAIN, 0, Map.of("WORLD_SIZE", "1"), ENDLESS, "--resume=auto");
            job.awaitShown(2, "Resuming after iteration ");
        }
    }
}
