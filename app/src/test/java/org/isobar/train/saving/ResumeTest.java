package org.isobar.train.saving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

import org.isobar.train.OutputTrigger;
import org.isobar.train.PreviousRunFiles;
import org.isobar.train.ProcessJob;
import org.isobar.train.RunContext;
import org.isobar.train.RunOutputs;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Interrupted and resumed runs have the same outputs as an undisturbed run, to the bit. */
class ResumeTest {
    /** Two epochs of twelve steps and six validation batches: the run polls the stop request 36 times. */
    private static final List<String> RUN = List.of("num_iters=24", "dropout=0.1", "warmup=3", TinyRun.TWO_BLOCKS);
    private static final String AUTO = "resume=auto";

    @TempDir
    private static Path data;
    private static RunOutputs undisturbed;

    @TempDir
    private Path logs;

    @BeforeAll
    static void train() throws IOException {
        TinyRun.synthesize(data);
        TinyRun run = run(data.resolve("logs"), StopRequest.NONE, "keep=0").succeeded();
        undisturbed = RunOutputs.of(run.directory());
    }

    private static TinyRun run(Path logs, StopRequest interruption, String... settings) {
        return TinyRun.of(data, logs, UnaryOperator.identity(), interruption,
            Stream.concat(RUN.stream(), Stream.of(settings)).toArray(String[]::new));
    }

    private TinyRun run(String... settings) {
        return run(logs, StopRequest.NONE, settings);
    }

    private TinyRun run(StopRequest interruption, String... settings) {
        return run(logs, interruption, settings);
    }

    private static void assertUndisturbed(TinyRun run) throws IOException {
        undisturbed.assertEqualTo(RunOutputs.of(run.succeeded().directory()), run.screen());
    }

    /** The first poll is that of the first step; its request takes effect after the second step was issued. */
    @ParameterizedTest
    @CsvSource({"1, 2, threads=1, num_data_workers=0", "5, 6, threads=2, num_data_workers=3",
        "10, 11, threads=1, num_data_workers=1", "11, 12, threads=2, num_data_workers=0",
        "12, 12, threads=1, num_data_workers=2", "13, 12, threads=2, num_data_workers=1",
        "15, 12, threads=1, num_data_workers=0", "18, 12, threads=2, num_data_workers=2",
        "19, 14, threads=1, num_data_workers=3", "30, 24, threads=2, num_data_workers=0",
        "36, 24, threads=1, num_data_workers=1"})
    void interruptedRunResumes(int look, int iteration, String threads, String workers) throws IOException {
        TinyRun interrupted = run(StopAfterPolls.from(look));
        assertEquals(RunContext.INTERRUPTED, interrupted.code(), interrupted.screen());
        assertTrue(interrupted.log().contains("Interrupted after iteration " + iteration + ","), interrupted.screen());
        TinyRun resumed = run(AUTO, threads, workers);
        assertTrue(resumed.log().contains("Resuming after iteration " + iteration + " from "), resumed.screen());
        assertUndisturbed(resumed);
    }

    /** A request during a step takes effect after its last micro-batch. */
    @Test
    void stepsOfMicroBatchesResume() throws IOException {
        String[] settings = {"global_batch_size=4", "accumulate_steps=2", "num_iters=12"};
        RunOutputs expected = RunOutputs.of(run(logs.resolve("whole"), StopRequest.NONE, settings).directory());
        TinyRun interrupted = run(StopAfterPolls.from(3), settings);
        assertTrue(interrupted.log().contains("Interrupted after iteration 4,"), interrupted.screen());
        String[] resumed = {settings[0], settings[1], settings[2], AUTO};
        expected.assertEqualTo(RunOutputs.of(run(resumed).succeeded().directory()), "resumed");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 7})
    void runMayBeInterruptedRepeatedly(int looks) throws IOException {
        int interruptions = 0;
        TinyRun last = run(StopAfterPolls.from(looks), AUTO);
        while (last.code() == RunContext.INTERRUPTED) {
            interruptions++;
            // A process that starts with validation (six polls) needs more polls to reach a step.
            boolean validates = last.screen().matches("(?s).*Interrupted after iteration (12|24),.*");
            last = run(StopAfterPolls.from(validates ? Math.max(looks, 8) : looks), AUTO);
        }
        assertTrue(interruptions >= 4, "interruptions: " + interruptions);
        assertUndisturbed(last);
    }

    @Test
    void processWithoutAStepReportsThatItCannotProgress() throws IOException {
        assertEquals(RunContext.INTERRUPTED, run(StopAfterPolls.from(12)).code());
        TinyRun again = run(StopAfterPolls.from(1), AUTO); // in validation
        assertEquals(1, again.code(), again.screen());
        assertTrue(again.log().contains("no step was done since the start"), again.screen());
        assertUndisturbed(run(AUTO));
    }

    @ParameterizedTest
    @CsvSource({"8, 5", "12, 10", "15, 10", "18, 10", "19, 12", "26, 15", "33, 20"})
    void failedRunResumesFromItsLastCheckpoint(int look, int iteration) throws IOException {
        TinyRun failed = run(StopAfterPolls.failingAt(look, Resumption.folder(TinyRun.directory(logs))
            .resolve("checkpoint-" + iteration)), "checkpoint_every=5");
        assertEquals(1, failed.code(), failed.screen());
        assertTrue(failed.log().contains("this test fails the run at poll " + look), failed.screen());
        TinyRun resumed = run(AUTO, "checkpoint_every=7");
        assertTrue(resumed.log().contains("Resuming after iteration " + iteration + " from "), resumed.screen());
        assertFalse(resumed.log().contains("this test fails the run"), resumed.log());
        assertUndisturbed(resumed);
    }

    @Test
    void savingDoesNotChangeTheResults() throws IOException {
        TinyRun steps = run("checkpoint_every=5", "keep=9").succeeded();
        assertEquals(List.of(0L, 5L, 10L, 12L, 15L, 20L, 24L), checkpoints(steps));
        assertUndisturbed(steps);
    }

    @Test
    void checkpointsAreSavedAtIntervalsOfTime() throws IOException {
        Path first = Resumption.folder(TinyRun.directory(logs)).resolve("checkpoint-0");
        TinyRun often = run(StopAfterPolls.waitingFor(first), "checkpoint_minutes=1.0e-6", "keep=99");
        assertUndisturbed(often);
        List<Long> between = checkpoints(often).stream().filter(iteration -> iteration % TinyRun.STEPS != 0).toList();
        assertUndisturbed(run("resume=" + Resumption.folder(often.directory())
            .resolve("checkpoint-" + between.getFirst())));
    }

    /** A process that resumes in validation has trained no step of that epoch. */
    @Test
    void epochWithoutAStepHasNoSpeed() throws IOException {
        assertEquals(RunContext.INTERRUPTED, run(StopAfterPolls.from(15)).code());
        TinyRun resumed = run(AUTO).succeeded();
        assertEquals(2, resumed.log().lines().filter(line ->
            line.matches(".* Time taken for epoch [12] is [0-9.]+ sec, avg [0-9.]+ samples/sec")).count());
        assertEquals(List.of("Avg iters per sec @ 24", "Avg samples per sec @ 24"), resumed.events().labels().stream()
            .filter(label -> label.contains(" per sec")).toList());
        assertEquals(List.of(false, true), RunOutputs.metricsLines(resumed.directory()).stream()
            .filter(line -> line.path("kind").asText().equals("epoch") && line.path("epoch").asInt() > 0)
            .map(line -> line.path("samples_per_second").isNumber()).toList());
    }

    @Test
    void completeRunIsNotTrainedAgain() throws IOException {
        TinyRun run = run();
        assertUndisturbed(run);
        StopAfterPolls stopRequest = StopAfterPolls.from(99);
        TinyRun again = run(stopRequest, AUTO);
        assertUndisturbed(again);
        assertEquals(0, stopRequest.polls());
        assertEquals(scores(run), scores(again));
        assertEquals(1, again.log().lines().filter(line -> line.contains("RMSE(u10m)/valid: model")).count());
    }

    private static String scores(TinyRun run) {
        return run.screen().lines().filter(line -> line.contains("RMSE(u10m)/valid: model"))
            .map(line -> line.substring(line.indexOf("RMSE"))).findAny().orElseThrow();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "checkpoints", "checkpoints/checkpoint-6"})
    void runStartsFromTheCheckpointOfAnotherRun(String where) throws IOException {
        TinyRun interrupted = run(logs.resolve("first"), StopAfterPolls.from(5));
        assertEquals(RunContext.INTERRUPTED, interrupted.code(), interrupted.screen());
        String log = interrupted.log();
        TinyRun second = run("resume=" + interrupted.directory().resolve(where), "keep=9").succeeded();
        undisturbed.assertSameLossesAndWeights(RunOutputs.of(second.directory()), second.screen());
        assertEquals(log, interrupted.log());
        assertEquals(List.of(0L, 6L), checkpoints(interrupted));
        assertEquals(List.of(6L, 12L, 24L), checkpoints(second)); // its own from the start
    }

    @Test
    void laterCheckpointsAreRenamedForARunThatGoesBack() throws IOException {
        TinyRun run = run("checkpoint_every=6", "keep=9").succeeded();
        TinyRun back = run("resume=" + Resumption.folder(run.directory()).resolve("checkpoint-6"), "keep=9");
        assertUndisturbed(back);
        assertEquals(List.of(0L, 6L, 12L, 24L), checkpoints(back));
        assertEquals(List.of(12L, 18L, 24L), checkpoints(back.directory().resolve("checkpoints-1")));
        assertTrue(back.log().contains("Earlier checkpoints of later iterations were moved to "), back.screen());
    }

    @Test
    void earlierCheckpointsAreRenamedForAFreshStart() throws IOException {
        assertEquals(RunContext.INTERRUPTED, run(StopAfterPolls.from(5)).code());
        TinyRun fresh = run("resume=never").succeeded();
        assertEquals(List.of(12L, 24L), checkpoints(fresh));
        assertEquals(List.of(0L, 6L), checkpoints(fresh.directory().resolve("checkpoints-1")));
        undisturbed.assertEqualTo(RunOutputs.of(fresh.directory()), fresh.screen());
    }

    /** Two good epochs, and two with a much too high learning rate. */
    @Test
    void bestCheckpointIsKept() throws IOException {
        run().succeeded();
        TinyRun spoilt = run(AUTO, "force=true", "num_iters=48", "lr=20.0", "warmup=0", "keep=1").succeeded();
        List<Double> scores = ProcessJob.losses(spoilt.directory()).get("Avg val loss=");
        assertEquals(4, scores.size());
        assertTrue(scores.get(1) < Math.min(scores.get(2), scores.get(3)), scores::toString);
        assertEquals(List.of(24L, 48L), checkpoints(spoilt));
    }

    /** The state with the best score is not saved: the best of the saved ones stays after each resumption. */
    @Test
    void bestCheckpointOfAnEarlierProcessIsKept() throws IOException {
        String[] settings = {AUTO, "num_iters=36", "keep=1", TinyRun.TWO_BLOCKS};
        assertEquals(RunContext.INTERRUPTED, TinyRun.of(data, logs, screen -> screen, StopAfterPolls.from(19), settings)
            .code());
        Path folder = Resumption.folder(TinyRun.directory(logs));
        assertEquals(List.of(12L, 14L), checkpoints(folder));
        Path foreign = folder.resolve("checkpoint-24/file");
        TinyRun better = TinyRun.of(data, logs, screen -> OutputTrigger.after("Time taken for epoch 2", screen, () -> {
            Files.createDirectories(foreign.getParent());
            Files.createFile(foreign);
        }), StopAfterPolls.from(17), settings);
        assertTrue(better.log().contains("checkpoint-24 exists and is not a checkpoint"), better.screen());
        Files.delete(foreign);
        Files.delete(foreign.getParent());
        assertEquals(List.of(12L, 26L), checkpoints(folder));
        List<Double> scores = ProcessJob.losses(better.directory()).get("Avg val loss=");
        assertTrue(scores.get(1) < scores.get(0), scores::toString);
        assertEquals(RunContext.INTERRUPTED, TinyRun.of(data, logs, screen -> screen, StopAfterPolls.from(1), settings)
            .code());
        assertEquals(List.of(12L, 28L), checkpoints(folder));
    }

    @Test
    void nothingIsSavedWithKeepZero() throws IOException {
        StopAfterPolls stopRequest = StopAfterPolls.from(1);
        TinyRun run = run(stopRequest, "keep=0", "checkpoint_every=1").succeeded();
        assertFalse(Files.exists(Resumption.folder(run.directory())));
        assertEquals(0, stopRequest.armed());
        assertTrue(run.log().contains("No checkpoints: keep is 0"), run.log());
    }

    @ParameterizedTest
    @CsvSource({"seed=7, seed", "num_iters=36, num_iters", "dropout=0.2, dropout", "lr=0.002, lr",
        "global_batch_size=4, global_batch_size"})
    void changedSettingIsRefusedUnlessForced(String setting, String key) throws IOException {
        assertEquals(RunContext.INTERRUPTED, run(StopAfterPolls.from(5)).code());
        TinyRun refused = run(AUTO, setting);
        PreviousRunFiles.assertOneError(refused, List.of("would change the result: " + key, "--force"));
        TinyRun forced = run(AUTO, setting, "force=true").succeeded();
        assertTrue(forced.log().contains("WARNING - Forced: resuming from "), forced.screen());
        assertTrue(forced.log().contains("Resuming after iteration 6 from "), forced.screen());
    }

    @Test
    void epochCannotBecomeShorter() throws IOException {
        assertEquals(RunContext.INTERRUPTED, run(StopAfterPolls.from(5)).code());
        PreviousRunFiles.assertOneError(run(AUTO, "global_batch_size=8", "force=true"),
            List.of("was made after 6 steps of an epoch, and now an epoch has 3"));
    }

    @Test
    void otherDataAreRefusedUnlessForced() throws IOException {
        assertEquals(RunContext.INTERRUPTED, run(StopAfterPolls.from(5)).code());
        Path other = logs.resolve("other");
        TinyRun.synthesize(other, 2);
        TinyRun refused = run(AUTO, "data_dir=" + other, "synthetic.seed=2");
        PreviousRunFiles.assertOneError(refused, List.of("the data have changed", "--force"));
        TinyRun forced = run(AUTO, "data_dir=" + other, "synthetic.seed=2", "force=true").succeeded();
        assertTrue(forced.log().contains("WARNING - Forced: "), forced.screen());
    }

    @Test
    void dataMayMoveToAnotherDirectory() throws IOException {
        assertEquals(RunContext.INTERRUPTED, run(StopAfterPolls.from(5)).code());
        TinyRun.synthesize(logs.resolve("other"));
        assertUndisturbed(run(AUTO, "data_dir=" + logs.resolve("other")));
    }

    private static List<Long> checkpoints(TinyRun run) throws IOException {
        return checkpoints(Resumption.folder(run.directory()));
    }

    private static List<Long> checkpoints(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return Arrays.stream(entries.map(entry -> entry.getFileName().toString()).toArray(String[]::new))
                .map(name -> Long.parseLong(name.replace("checkpoint-", ""))).sorted().toList();
        }
    }
}
