package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

import org.isobar.telemetry.EventFile;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Runs whose steps are launched as CUDA graphs give the bits of runs whose steps are issued. */
@Tag("cuda")
class CudaGraphRunTest {
    private static final String TWO_EPOCHS = "num_iters=24";

    @TempDir
    private static Path data;
    @TempDir
    private Path logs;

    @BeforeAll
    static void synthesize() {
        TinyRun.synthesize(data);
    }

    @ParameterizedTest
    @CsvSource({"none, false, 2", "fp16, true, 0"})
    void lossesAndScoresHaveTheSameBits(String mode, boolean fused, int workers) throws IOException {
        String[] settings = {TWO_EPOCHS, "device=cuda", "amp_mode=" + mode, "enable_fused=" + fused,
            "enable_jit=" + fused, "num_data_workers=" + workers};
        TinyRun issued = TinyRun.of(data, logs.resolve("issued"), settings).succeeded();
        TinyRun captured = TinyRun.of(data, logs.resolve("captured"), Stream.concat(Stream.of(settings),
            Stream.of("enable_cuda_graphs=true")).toArray(String[]::new)).succeeded();
        assertEquals(1, captured.log().lines().filter(line -> line.contains("CUDA graphs: ")).count());
        assertEquals(0, issued.log().lines().filter(line -> line.contains("CUDA graphs: ")).count());
        assertEquals(losses(issued), losses(captured));
        EventFile expected = issued.events();
        EventFile found = captured.events();
        for (String score : List.of("Loss/train", "Loss/valid", "RMSE(u10m)/valid", "Learning Rate")) {
            for (int step = score.equals("Learning Rate") ? 12 : 0; step <= 24; step += 12) {
                assertEquals(expected.scalar(score, step), found.scalar(score, step), score + " @ " + step);
            }
        }
        assertEquals(-1, Files.mismatch(issued.weights(), captured.weights()));
    }

    @Tag("slow")
    @Test
    void lossesAndScoresInBf16HaveTheSameBits() throws IOException {
        lossesAndScoresHaveTheSameBits("bf16", true, 1);
    }

    @Test
    void cpuReportsThatItHasNoGraphs() throws IOException {
        TinyRun run = TinyRun.of(data, logs, "num_iters=12", "device=cpu", "enable_cuda_graphs=true",
            "dropout=0.1").succeeded();
        assertTrue(run.log().contains("Without effect on the CPU: enable_cuda_graphs (there are no kernels to "
            + "capture)"), run.log());
    }

    /** The loss of a captured step is read one step late; the error names the step that diverged. */
    @Test
    void divergingCapturedStepIsNamed() throws IOException {
        TinyRun issued = TinyRun.of(data, logs.resolve("issued"), "device=cuda", "lr=1e30");
        TinyRun captured = TinyRun.of(data, logs.resolve("captured"), "device=cuda", "lr=1e30",
            "enable_cuda_graphs=true");
        assertEquals(List.of(2, 2), List.of(issued.code(), captured.code()), captured.screen());
        String error = error(captured);
        assertTrue(error.contains("the loss is NaN at step 2, sample "), error);
        assertEquals(error(issued).replace("issued", "captured"), error); // in the directory name
    }

    private static List<String> losses(TinyRun run) throws IOException {
        return run.log().lines().filter(line -> line.matches(".*Avg (train|val) loss=.*"))
            .map(line -> line.substring(line.indexOf("Avg"))).toList();
    }

    private static String error(TinyRun run) throws IOException {
        return run.log().lines().filter(line -> line.contains(" - ERROR - "))
            .map(line -> line.substring(line.indexOf("ERROR"))).findFirst().orElseThrow();
    }
}
