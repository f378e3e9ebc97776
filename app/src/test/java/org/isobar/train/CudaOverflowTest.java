package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.isobar.config.RunConfig;
import org.isobar.data.NpyFile;
import org.isobar.telemetry.EventFile;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Trains in F16 on a GPU with overflowing gradients. The gradient of the loss is inversely proportional to the norm of
 * the target. Standard deviations that are far too large make normalized fields small and hence the gradient large.
 */
@Tag("cuda")
class CudaOverflowTest {
    private static final Pattern SKIPPED = Pattern.compile(
        "Gradients overflowed: (\\d+) of (\\d+) steps( in total)? skipped, the loss scale is (\\S+)");
    private static final double F16_ROUNDOFF = 0x1p-11;
    private static final int EPOCHS = 2;

    @TempDir
    private static Path data;
    private static Path logs;
    private static RunConfig config;
    private static TinyRun run;

    /** Gradients of the first steps exceed the range of F16 by a few powers of two. */
    @BeforeAll
    static void trainWithOverflowsAtFirst() {
        TinyRun.synthesize(data);
        logs = data.resolve("logs");
        String[] settings = {"device=cuda", "amp_mode=fp16", "enable_fused=true", "enable_jit=true",
            "num_iters=" + EPOCHS * TinyRun.STEPS, deviations(4e3)};
        config = TinyRun.config(data, logs, settings);
        run = TinyRun.of(data, logs, settings).succeeded();
    }

    /** Writes statistics with standard deviations multiplied by {@code factor}; returns the setting for them. */
    private static String deviations(double factor) {
        NpyFile right = NpyFile.read(data.resolve("tiny/stats/global_stds.npy"));
        Path wrong = data.resolve("stds-" + factor + ".npy");
        new NpyFile(right.dtype(), right.shape(), Arrays.stream(right.values()).map(std -> factor * std).toArray())
            .write(wrong);
        return "global_stds_path=" + wrong;
    }

    @Test
    void logHasSkippedStepsAndTheScale() throws IOException {
        int skipped = skipped();
        assertTrue(skipped > 1 && skipped < TinyRun.STEPS, run.log());
        double scale = 0x1p16 / (1L << skipped);
        assertEquals(List.of(
            "Gradients overflowed: %d of 12 steps skipped, the loss scale is %s".formatted(skipped, scale),
            "Gradients overflowed: %d of 24 steps in total skipped, the loss scale is %s".formatted(skipped, scale)),
            lines(run));
    }

    /**
     * Compares with the CPU's losses when the same steps are idle there: skipped steps change neither weights nor
     * Adam's step count, but the learning rate advances. Bounds as in {@link CudaTrainingTest}.
     */
    @Test
    void skippedStepsDoNotAffectTraining() throws IOException {
        EventFile found = run.events();
        CpuReferenceRun expected = CpuReferenceRun.of(config, EPOCHS, skipped());
        for (int epoch = 0; epoch <= EPOCHS; epoch++) {
            double tolerance = 4 * F16_ROUNDOFF * (epoch == 0 ? 1 : 4);
            double loss = expected.validation().get(epoch);
            assertEquals(loss, found.scalar("Loss/valid", epoch * TinyRun.STEPS), tolerance * loss, "Loss/valid "
                + epoch);
        }
        for (int epoch = 1; epoch <= EPOCHS; epoch++) {
            double loss = expected.training().get(epoch - 1);
            assertEquals(loss, found.scalar("Loss/train", epoch * TinyRun.STEPS), 16 * F16_ROUNDOFF * loss,
                "Loss/train " + epoch);
        }
    }

    @Test
    void ifAllStepsOverflowOnlyTheLearningRateChanges() throws IOException {
        TinyRun lost = TinyRun.of(data, logs.resolve("lost"), "device=cuda", "amp_mode=fp16", "enable_fused=true",
            "enable_jit=true", "num_iters=" + TinyRun.STEPS, "init_weights=" + run.weights(), deviations(1e9))
            .succeeded();
        assertEquals(List.of("Gradients overflowed: 12 of 12 steps skipped, the loss scale is 16.0",
            "Gradients overflowed: 12 of 12 steps in total skipped, the loss scale is 16.0"), lines(lost));
        assertEquals(-1, Files.mismatch(run.weights(), lost.weights()));
        assertEquals(0f, lost.events().scalar("Learning Rate", TinyRun.STEPS), 1e-9f);
    }

    private static int skipped() throws IOException {
        Matcher first = SKIPPED.matcher(run.log());
        assertTrue(first.find(), run.log());
        return Integer.parseInt(first.group(1));
    }

    private static List<String> lines(TinyRun of) throws IOException {
        return SKIPPED.matcher(of.log()).results().map(found -> found.group()).toList();
    }
}
