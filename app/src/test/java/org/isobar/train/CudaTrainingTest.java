package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.isobar.data.NpyFile;
import org.isobar.telemetry.EventFile;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Trains preset tiny on a GPU in every precision and compares with the CPU in full single precision. */
@Tag("cuda")
class CudaTrainingTest {
    private static final String TWO_EPOCHS = "num_iters=24";
    private static final List<String> SCORES = List.of("Loss/train", "Loss/valid", "RMSE(u10m)/valid");

    @TempDir
    private static Path data;
    private static EventFile expected;

    @TempDir
    private Path logs;

    @BeforeAll
    static void trainOnTheCpu() throws IOException {
        TinyRun.synthesize(data);
        expected = TinyRun.of(data, data.resolve("logs"), TWO_EPOCHS, "device=cpu").succeeded().events();
    }

    /**
     * The error of a score before training is at most 4 times the rounding error of the operand type (TF32 rounds like
     * binary16), as in golden cases. Errors of 24 steps have random signs and grow by the square root, about 4 times.
     */
    @ParameterizedTest
    @CsvSource({"none, false, 0x1p-11", "none, true, 0x1p-11", "fp16, true, 0x1p-11", "bf16, true, 0x1p-8",
        "bf16, false, 0x1p-8"})
    void lossesAgreeWithTheCpu(String mode, boolean jit, String roundoff) throws IOException {
        TinyRun run = TinyRun.of(data, logs, TWO_EPOCHS, "device=cuda", "amp_mode=" + mode, "enable_jit=" + jit,
            "enable_fused=" + jit).succeeded();
        assertNamesTheKernels(run.log(), jit);
        EventFile found = run.events();
        for (String score : SCORES) {
            for (int step = 0; step <= 24; step += 12) {
                double tolerance = 4 * Double.parseDouble(roundoff) * (step == 0 ? 1 : 4);
                double reference = expected.scalar(score, step);
                assertEquals(reference, found.scalar(score, step), tolerance * reference, score + " @ " + step);
            }
        }
        assertTrue(found.scalar("Loss/valid", 24) < 0.97 * found.scalar("Loss/valid", 0));
    }

    /** Host and GPU subtract and divide fields in single precision with the same rounding, so the bits are equal. */
    @Test
    void loadersGraphsAndRecomputationHaveTheSameLosses() throws IOException {
        EventFile host = loaded("host", "data_loader_config=pytorch", "num_data_workers=2");
        assertSameScores(host, loaded("device", "data_loader_config=dali", "num_data_workers=0"));
        assertSameScores(host, loaded("graphs", "data_loader_config=dali", "num_data_workers=2",
            "enable_cuda_graphs=true"));
        assertSameScores(host, loaded("less memory", "enable_cuda_graphs=true", "recompute=block"));
    }

    private EventFile loaded(String name, String... loader) throws IOException {
        List<String> settings = new ArrayList<>(List.of("num_iters=12", "device=cuda", "enable_jit=true",
            TinyRun.TWO_BLOCKS));
        settings.addAll(List.of(loader));
        return TinyRun.of(data, logs.resolve(name), settings.toArray(String[]::new)).succeeded().events();
    }

    private static void assertSameScores(EventFile expected, EventFile found) {
        for (String score : SCORES) {
            for (int step = 0; step <= 12; step += 12) {
                assertEquals(expected.scalar(score, step), found.scalar(score, step), score + " @ " + step);
            }
        }
    }

    /** Fields are so far from their mean that they overflow F16, but no other type. */
    @Test
    void overflowInForwardIsReported() throws IOException {
        NpyFile right = NpyFile.read(data.resolve("tiny/stats/global_stds.npy"));
        Path small = data.resolve("small.npy");
        new NpyFile(right.dtype(), right.shape(), Arrays.stream(right.values()).map(std -> std / 1e6).toArray())
            .write(small);
        TinyRun run = TinyRun.of(data, logs, "device=cuda", "amp_mode=fp16", "global_stds_path=" + small);
        assertEquals(2, run.code(), run.screen());
        assertTrue(run.log().contains("a value exceeds the range of fp16; use --amp_mode bf16"), run.log());
    }

    /** The log names the kernels of products, GELU, norms, attention and Adam once each. */
    private static void assertNamesTheKernels(String log, boolean jit) {
        List<String> lines = log.lines().filter(line -> line.contains("Kernels: ")).toList();
        assertEquals(5, lines.size(), lines::toString);
        assertTrue(lines.get(1).endsWith(jit ? "in one kernel" : "in a kernel each"), lines::toString);
        assertTrue(lines.get(4).endsWith(jit ? "Adam: one launch" : "Adam: one launch per tensor"), lines::toString);
    }
}
