package org.isobar.train.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.isobar.backend.cuda.SimulatedCudnn;
import org.isobar.telemetry.EventFile;
import org.isobar.train.ProcessJob;
import org.isobar.train.RunContext;
import org.isobar.train.RunOutputs;
import org.isobar.train.TinyRun;
import org.isobar.train.saving.StopAfterPolls;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Runs of preset tiny, whose heads have 8 channels, with the simulated cuDNN, chosen or refused. */
@Tag("simulated")
class AttentionSelectionTest {
    private static final List<String> SCORES = List.of("Loss/train", "Loss/valid", "RMSE(u10m)/valid");
    private static final int STEPS = 12;

    @TempDir
    private static Path data;
    private static TinyRun own;

    @TempDir
    private Path logs;

    @BeforeAll
    static void trainWithOwnKernels() {
        TinyRun.synthesize(data);
        own = run(data.resolve("logs"), data, StopRequest.NONE, "attention=isobar").succeeded();
    }

    private static TinyRun run(Path logs, Path cache, StopRequest stop, String... settings) {
        Map<String, String> environment = SimulatedCudnn.environment();
        environment.put("ISOBAR_CACHE", cache.toString());
        return TinyRun.of(data, logs, UnaryOperator.identity(), stop, environment, Stream.concat(
            Stream.of("num_iters=" + STEPS, "device=cuda", "amp_mode=bf16", TinyRun.WIDER), Stream.of(settings))
            .toArray(String[]::new));
    }

    private TinyRun run(String name, String... settings) {
        return run(logs.resolve(name), logs, StopRequest.NONE, settings);
    }

    private static String line(TinyRun run) throws IOException {
        List<String> lines = run.log().lines().filter(line -> line.contains("Attention: ")).toList();
        assertEquals(1, lines.size(), lines::toString);
        return lines.getFirst().replaceFirst(".*Attention: ", "");
    }

    /** As in CudaTrainingTest, for two engines that both round: errors of 12 steps grow about 4 times. */
    private static void assertAgrees(EventFile expected, EventFile found) {
        for (String score : SCORES) {
            for (int step = 0; step <= STEPS; step += STEPS) {
                double reference = expected.scalar(score, step);
                assertEquals(reference, found.scalar(score, step), 4 * 0x1p-8 * (step == 0 ? 1 : 4) * reference,
                    score + " @ " + step);
            }
        }
    }

    @Test
    void theFasterEngineIsUsedOnceItHasProvenItself() throws IOException {
        TinyRun first = run("first").succeeded();
        assertTrue(line(first).matches("cuDNN 9.19.0; forward and backward of a layer take [\\d.]+ ms with cuDNN 9.19.0"
            + " and [\\d.]+ ms with Isobar's kernels \\(measured now\\)"), line(first));
        assertFalse(first.log().contains("Kernels: attention of heads"), first.log());
        assertAgrees(own.events(), first.events());
        TinyRun again = run("again").succeeded();
        assertTrue(line(again).endsWith("(measured earlier)"), line(again));
        TinyRun graphs = run("graphs", "enable_cuda_graphs=true").succeeded();
        assertTrue(graphs.log().contains("CUDA graphs: "), graphs.log());
        for (TinyRun same : List.of(again, graphs)) {
            RunOutputs.of(first.directory()).assertEqualTo(RunOutputs.of(same.directory()), same.screen());
        }
        Path manifest = first.directory().resolve("checkpoints/checkpoint-" + STEPS + "/checkpoint.json");
        assertTrue(Files.readString(manifest).contains("\"attention\" : \"cuDNN 9.19.0\""), manifest::toString);
    }

    /**
     * As on an H100 with cuDNN 9.19. The checkpoint names the engine, so that a resumed run can tell. Both engines
     * compute the same backward pass, so which of them is faster depends on the machine's load: only the trial's
     * success is asserted, and the run that is examined forces the library.
     */
    @Test
    void aLibraryThatRefusesTheBackwardPassComputesTheForwardPass() {
        SimulatedCudnn.wrong("backward", () -> {
            try {
                String trial = run("trial").succeeded().log();
                assertTrue(Pattern.compile("Attention: (cuDNN 9.19.0 \\(forward\\)|Isobar's kernels); forward and "
                    + "backward of a layer take [\\d.]+ ms with cuDNN 9.19.0 \\(forward\\) and [\\d.]+ ms with "
                    + "Isobar's kernels \\(measured now\\)").matcher(trial).find(), trial);
                TinyRun run = run("backward", "attention=cudnn").succeeded();
                assertTrue(run.log().contains("Attention: cuDNN 9.19.0 (forward), because of --attention=cudnn"),
                    run.log());
                assertTrue(run.log().contains("Attention: backward by Isobar's kernels: cuDNN 9.19.0 refuses "),
                    run.log());
                assertAgrees(own.events(), run.events());
                Path manifest = run.directory().resolve("checkpoints/checkpoint-" + STEPS + "/checkpoint.json");
                assertTrue(Files.readString(manifest).contains("\"attention\" : \"cuDNN 9.19.0 (forward)\""),
                    manifest::toString);
            } catch (IOException failure) {
                throw new AssertionError(failure);
            }
        });
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "gradient | the gradient of keys differs by 5.",
        "bits | has other bits in a second call",
        "refuse | because a trial of cuDNN 9.19.0 failed: cudnnBackendExecute of",
        "slow | Isobar's kernels; forward and backward of a layer take"})
    void aWrongOrSlowLibraryIsNotUsed(String mistake, String said) {
        SimulatedCudnn.wrong(mistake, () -> {
            TinyRun run = run(mistake).succeeded();
            try {
                assertTrue(line(run).contains(said) && line(run).startsWith("Isobar's kernels"), line(run));
                assertEquals(!mistake.equals("slow"), run.log().contains("WARNING - Attention: "), run.log());
                RunOutputs.of(own.directory()).assertEqualTo(RunOutputs.of(run.directory()), run.screen());
            } catch (IOException failure) {
                throw new AssertionError(failure);
            }
        });
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "amp_mode=none | --attention=cudnn: cuDNN has no attention in fp32",
        "dropout=0.1 | --attention=cudnn: what cuDNN's dropout drops would depend on the parallel layout",
        "num_heads=8 | --attention=cudnn: cuDNN needs heads of a multiple of 8 channels up to 128, and these have 4",
        "device=cpu | --attention=cudnn: cuDNN computes on a GPU"})
    void whereTheLibraryCannotBeForcedTheRunEnds(String setting, String error) {
        TinyRun run = run("forced", "attention=cudnn", setting);
        assertEquals(2, run.code(), run.screen());
        List<String> errors = run.screen().lines().filter(line -> line.contains(" - ERROR - ")).toList();
        assertTrue(errors.size() == 1 && errors.getFirst().contains(error), run.screen());
    }

    @Test
    void withoutTheLibraryTheRunEndsOrUsesOwnKernels() throws IOException {
        TinyRun forced = TinyRun.of(data, logs.resolve("forced"), "device=cuda", "amp_mode=bf16", "attention=cudnn",
            TinyRun.WIDER);
        assertEquals(2, forced.code(), forced.screen());
        assertTrue(forced.screen().contains("--attention=cudnn: libcudnn.so.9 is missing; install cuDNN 9"),
            forced.screen());
        TinyRun automatic = TinyRun.of(data, logs.resolve("auto"), "device=cuda", "amp_mode=bf16", "num_iters=" + STEPS,
            TinyRun.WIDER).succeeded();
        assertFalse(automatic.log().contains("Attention: "), automatic.log());
        RunOutputs.of(own.directory()).assertEqualTo(RunOutputs.of(automatic.directory()), automatic.screen());
    }

    @Test
    void oneLineSaysThatDropoutStaysWithOwnKernels() throws IOException {
        TinyRun run = run("dropout", "dropout=0.1").succeeded();
        assertEquals("Isobar's kernels, because what cuDNN drops would depend on the parallel layout", line(run));
    }

    /** Stopped, then killed between two checkpoints, then resumed; and resumed with the other engine. */
    @Test
    void resumedRunHasTheSameBits() throws IOException {
        TinyRun whole = run("whole", "attention=cudnn", "keep=0", "amp_mode=fp16").succeeded();
        String[] settings = {"attention=cudnn", "amp_mode=fp16", "resume=auto", "checkpoint_every=3"};
        TinyRun stopped = run(logs, logs, StopAfterPolls.from(4), settings);
        assertEquals(RunContext.INTERRUPTED, stopped.code(), stopped.screen());
        TinyRun killed = run(logs, logs, StopAfterPolls.failingAt(5,
            stopped.directory().resolve("checkpoints/checkpoint-6")), settings);
        assertTrue(killed.screen().contains("this test fails the run"), killed.screen());
        TinyRun resumed = run(logs, logs, StopRequest.NONE, settings).succeeded();
        RunOutputs.of(whole.directory()).assertEqualTo(RunOutputs.of(resumed.directory()), resumed.screen());
        TinyRun other = run(logs, logs, StopRequest.NONE, "amp_mode=fp16", "resume=auto", "attention=isobar",
            "num_iters=24", "force=true").succeeded();
        assertTrue(other.log().contains("Attention: the checkpoint's steps were computed by cuDNN 9.19.0, the next "
            + "ones by isobar: bits may differ"), other.log());
    }

    /** Two processes share the tokens: there are more keys than queries. */
    @Test
    void ranksThatShareTokensUseTheEngineOfTheFirst() throws Exception {
        assertTwoRanksAgree("--context_parallel=2");
    }

    @Tag("slow")
    @Test
    void ranksThatShareWeightsUseTheEngineOfTheFirst() throws Exception {
        assertTwoRanksAgree("--tensor_parallel=2");
    }

    private void assertTwoRanksAgree(String layout) throws Exception {
        ProcessJob job = ProcessJob.runOnGpus(data, logs, 2, Map.of("CUDNN_PATH", SimulatedCudnn.home().toString()),
            "--device=cuda", "--amp_mode=bf16", "--attention=cudnn", layout, "--set=num_iters=" + STEPS,
            "--set=" + TinyRun.WIDER);
        assertTrue(job.shown(0).contains("Attention: cuDNN 9.19.0, because of --attention=cudnn"), job.screens());
        assertAgrees(own.events(), job.events());
    }
}
