package org.isobar.train.saving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

import org.isobar.data.NpyFile;
import org.isobar.telemetry.EventFile;
import org.isobar.train.RunContext;
import org.isobar.train.RunOutputs;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Interrupted and resumed runs on a GPU have the same bits; runs resumed on another device have the same losses. */
@Tag("cuda")
class CudaResumeTest {
    private static final double TF32_ROUNDOFF = 0x1p-11;

    @TempDir
    private static Path data;
    @TempDir
    private Path logs;

    @BeforeAll
    static void synthesize() {
        TinyRun.synthesize(data);
    }

    private static TinyRun run(Path logs, StopRequest interruption, String... settings) {
        return TinyRun.of(data, logs, UnaryOperator.identity(), interruption,
            Stream.concat(Stream.of("num_iters=24", TinyRun.TWO_BLOCKS), Stream.of(settings)).toArray(String[]::new));
    }

    /** Stops the run in an epoch or in validation, and lets it fail between two checkpoints. */
    @ParameterizedTest
    @CsvSource({"device=cuda enable_cuda_graphs=true, 5, 22",
        "device=cuda amp_mode=bf16 enable_jit=true num_data_workers=2 dropout=0.1, 15, 16"})
    void resumedRunHasTheSameBits(String options, int asked, int failing) throws IOException {
        String[] settings = options.split(" ");
        TinyRun whole = run(logs.resolve("whole"), StopRequest.NONE, with(settings, "keep=0")).succeeded();
        TinyRun interrupted = run(logs, StopAfterPolls.from(asked), settings);
        assertEquals(RunContext.INTERRUPTED, interrupted.code(), interrupted.screen());
        Path next = Resumption.folder(interrupted.directory()).resolve("checkpoint-20");
        TinyRun failed = run(logs, StopAfterPolls.failingAt(failing, next), with(settings,
            "resume=auto", "checkpoint_every=5"));
        assertTrue(failed.screen().contains("this test fails the run at poll " + failing), failed.screen());
        TinyRun resumed = run(logs, StopRequest.NONE, with(settings, "resume=auto")).succeeded();
        RunOutputs.of(whole.directory()).assertEqualTo(RunOutputs.of(resumed.directory()), resumed.screen());
    }

    @Tag("slow")
    @Test
    void resumedRunInHalfPrecisionHasTheSameBits() throws IOException {
        resumedRunHasTheSameBits("device=cuda amp_mode=fp16 enable_fused=true enable_jit=true enable_cuda_graphs=true",
            20, 11);
    }

    /** The first steps overflow and lower the loss scale; the run is stopped during them. */
    @Test
    void lossScaleIsResumed() throws IOException {
        NpyFile right = NpyFile.read(data.resolve("tiny/stats/global_stds.npy"));
        Path wrong = data.resolve("stds.npy");
        new NpyFile(right.dtype(), right.shape(), Arrays.stream(right.values()).map(std -> 4e3 * std).toArray())
            .write(wrong);
        String[] settings = {"device=cuda", "amp_mode=fp16", "enable_fused=true", "enable_jit=true",
            "enable_cuda_graphs=true", "global_stds_path=" + wrong};
        TinyRun whole = run(logs.resolve("whole"), StopRequest.NONE, settings).succeeded();
        List<String> overflows = overflows(whole);
        assertEquals(2, overflows.size(), whole.log());
        assertEquals(RunContext.INTERRUPTED, run(logs, StopAfterPolls.from(1), settings).code());
        TinyRun resumed = run(logs, StopRequest.NONE, with(settings, "resume=auto")).succeeded();
        assertTrue(resumed.log().contains("Resuming after iteration 2 from "), resumed.screen());
        assertEquals(overflows, overflows(resumed));
        RunOutputs.of(whole.directory()).assertEqualTo(RunOutputs.of(resumed.directory()), resumed.screen());
    }

    private static List<String> overflows(TinyRun run) throws IOException {
        return run.log().lines().filter(line -> line.contains("Gradients overflowed: "))
            .map(line -> line.substring(line.indexOf("Gradients"))).toList();
    }

    /**
     * Bounds as in {@link org.isobar.train.CudaTrainingTest}: the error of the first score is a few roundings, later
     * errors are larger.
     */
    @ParameterizedTest
    @CsvSource({"cpu, cuda", "cuda, cpu"})
    void runResumesOnAnotherDevice(String from, String to) throws IOException {
        EventFile expected = run(logs.resolve("whole"), StopRequest.NONE, "device=cpu").succeeded().events();
        TinyRun interrupted = run(logs, StopAfterPolls.from(12), "device=" + from);
        assertEquals(RunContext.INTERRUPTED, interrupted.code(), interrupted.screen());
        TinyRun resumed = run(logs, StopRequest.NONE, "device=" + to, "resume=auto").succeeded();
        assertTrue(resumed.screen().contains("Resuming after iteration 12 from "), resumed.screen());
        for (String score : List.of("Loss/train", "Loss/valid", "RMSE(u10m)/valid")) {
            for (int step = 0; step <= 24; step += 12) {
                double tolerance = 4 * TF32_ROUNDOFF * (step == 0 ? 1 : 4);
                double reference = expected.scalar(score, step);
                assertEquals(reference, resumed.events().scalar(score, step), tolerance * reference,
                    score + " @ " + step);
            }
        }
    }

    private static String[] with(String[] settings, String... more) {
        return Stream.concat(Stream.of(settings), Stream.of(more)).toArray(String[]::new);
    }
}
