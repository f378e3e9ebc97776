package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

import org.isobar.data.DistributedSampler;
import org.isobar.data.NpyFile;
import org.isobar.telemetry.EventFile;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Processes with one simulated GPU each, connected by NCCL, have the losses of one process on the CPU. */
@Tag("simulated")
@Execution(ExecutionMode.CONCURRENT)
class MultiGpuTrainingTest {
    private static final int STEPS = 6; // an epoch: the data has 24 samples
    private static final int GLOBAL_BATCH = 4;
    private static final List<String> RUN = List.of("global_batch_size=" + GLOBAL_BATCH, "num_iters=" + STEPS,
        TinyRun.WIDER, "num_heads=4", TinyRun.TWO_BLOCKS);
    private static final long SEED = 1; // the preset's
    private static final List<String> SCORES = List.of("Loss/train", "Loss/valid", "RMSE(u10m)/valid");

    @TempDir
    private static Path data;
    private static EventFile alone;

    @TempDir
    private Path directory;

    @BeforeAll
    static void trainOnTheCpu() throws IOException {
        TinyRun.synthesize(data);
        List<String> settings = new ArrayList<>(RUN);
        settings.add("device=cpu");
        alone = TinyRun.of(data, data.resolve("logs"), settings.toArray(String[]::new)).succeeded().events();
    }

    @Test
    void lossesAgreeWithTheCpu() throws Exception {
        lossesAgreeWithTheCpu(2, "fp16", "--bucket_cap_mb=1 --set=prove_collectives=60");
    }

    /** The other two layouts of two ranks are captured below, each in the other type. */
    @Tag("slow")
    @ParameterizedTest
    @CsvSource({"2, none, --tensor_parallel=2 --set=prove_collectives=60", "2, bf16, --context_parallel=2",
        "4, none, --tensor_parallel=4"})
    void lossesAgreeWithTheCpu(int processes, String mode, String layout) throws Exception {
        checkLosses(mode, train("issued", processes, mode, layout));
    }

    /** Captured steps, including NCCL, have the same bits as issued steps, whose losses agree with the CPU's. */
    @ParameterizedTest
    @CsvSource({"none, --context_parallel=2",
        "bf16, --tensor_parallel=2 --set=enable_jit=true --set=enable_fused=true"})
    void capturedStepsHaveTheSameBits(String mode, String layout) throws Exception {
        checkCaptured(2, mode, layout);
    }

    /** Both groups at once. Otherwise {@code VerifyCommandTest} alone runs four ranks over NCCL, without graphs. */
    @Tag("slow")
    @Test
    void capturedStepsOfFourRanksHaveTheSameBits() throws Exception {
        checkCaptured(4, "none", "--tensor_parallel=2 --context_parallel=2 --parallel_order=cp-tp-dp");
    }

    private void checkCaptured(int processes, String mode, String layout) throws Exception {
        ProcessJob issued = train("issued", processes, mode, layout);
        checkLosses(mode, issued);
        expectSame(issued, train("captured", processes, mode, layout + " --enable_cuda_graphs"));
    }

    @Tag("slow")
    @Test
    void capturedStepsOfTwoReplicasInBf16HaveTheSameBits() throws Exception {
        checkCaptured(4, "bf16", "--tensor_parallel=2 --set=enable_jit=true --set=enable_fused=true");
    }

    /**
     * In one replica the target is almost zero, so that the gradient of the loss exceeds the range of F16. The rank
     * that writes the log belongs to the other replica.
     */
    @Test
    void overflowOnOneRankSkipsTheStepOnAll() throws Exception {
        Path spoilt = directory.resolve("data");
        TinyRun.synthesize(spoilt);
        int sample = Arrays.stream(new DistributedSampler(24, GLOBAL_BATCH, 2, 1, true, SEED).epoch(0))
            .filter(any -> any % 12 < 10).findFirst().orElseThrow(); // of rank 1; no other has its target
        Path year = spoilt.resolve("tiny/train").resolve(sample < 12 ? "1979.h5" : "1980.h5");
        InputDamage.fillFrame(year, sample % 12 + 1, almostMeans());
        ProcessJob issued = train(spoilt, "issued", 2, "fp16", "--tensor_parallel=1");
        String log = Files.readString(issued.directory().resolve("out.log"));
        assertTrue(log.contains("Gradients overflowed: 1 of 6 steps skipped, the loss scale is 32768.0"), log);
        expectSame(issued, train(spoilt, "captured", 2, "fp16", "--tensor_parallel=1 --enable_cuda_graphs"));
    }

    /** Fields of the channels of the preset that are almost zero after normalization. */
    private static float[] almostMeans() {
        double[] means = NpyFile.read(data.resolve("tiny/stats/global_means.npy")).values();
        double[] deviations = NpyFile.read(data.resolve("tiny/stats/global_stds.npy")).values();
        float[] fields = new float[3];
        for (int channel = 0; channel < fields.length; channel++) {
            fields[channel] = (float) (means[channel] + 1e-5 * deviations[channel]);
        }
        return fields;
    }

    private ProcessJob train(String name, int processes, String mode, String layout) throws Exception {
        return train(data, name, processes, mode, layout);
    }

    private ProcessJob train(Path from, String name, int processes, String mode, String layout) throws Exception {
        List<String> options = new ArrayList<>(List.of("--device=cuda", "--set=amp_mode=" + mode));
        RUN.forEach(setting -> options.add("--set=" + setting));
        options.addAll(Arrays.asList(layout.split(" ")));
        ProcessJob job = ProcessJob.runOnGpus(from, Files.createDirectories(directory.resolve(name)), processes,
            options.toArray(String[]::new));
        for (int rank = 0; rank < processes; rank++) {
            assertFalse(job.shown(rank).contains("cuda-sim: "), job.screens());
        }
        return job;
    }

    /** Bounds as in {@link CudaTrainingTest}. */
    private static void checkLosses(String mode, ProcessJob job) throws IOException {
        EventFile found = job.events();
        double roundoff = mode.equals("bf16") ? 0x1p-8 : 0x1p-11;
        for (String score : SCORES) {
            for (int step = 0; step <= STEPS; step += STEPS) {
                double expected = alone.scalar(score, step);
                assertEquals(expected, found.scalar(score, step), 4 * roundoff * (step == 0 ? 1 : 4) * expected,
                    score + " @ " + step);
            }
        }
        assertTrue(found.scalar("Loss/valid", STEPS) < 0.97 * found.scalar("Loss/valid", 0), job.screens());
    }

    private static void expectSame(ProcessJob issued, ProcessJob captured) throws IOException {
        assertTrue(Pattern.compile("CUDA graphs: a step is captured once").matcher(captured.shown(0)).find(),
            captured.screens());
        for (String score : SCORES) {
            for (int step = 0; step <= STEPS; step += STEPS) {
                assertEquals(issued.events().scalar(score, step), captured.events().scalar(score, step),
                    score + " @ " + step);
            }
        }
        assertEquals(-1, Files.mismatch(issued.directory().resolve("model.safetensors"),
            captured.directory().resolve("model.safetensors")));
    }
}
