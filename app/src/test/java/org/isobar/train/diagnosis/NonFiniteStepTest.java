package org.isobar.train.diagnosis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.isobar.data.DistributedSampler;
import org.isobar.train.InputDamage;
import org.isobar.train.PreviousRunFiles;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests steps with a non-finite loss: they are skipped if configured, and replayed from a checkpoint. */
class NonFiniteStepTest {
    private static final String SKIP = "on_nan=skip";

    @TempDir
    private Path data;
    @TempDir
    private Path logs;
    private final List<String> lines = new ArrayList<>();

    @BeforeEach
    void synthesize() {
        TinyRun.synthesize(data);
    }

    /** Writes NaN to the input time of a sample of 1979 or 1980. */
    private void spoil(int sample) throws IOException {
        spoilTime(inputTime(sample));
    }

    /** Writes NaN to a time; those of 1980 follow those of 1979. */
    private void spoilTime(int time) throws IOException {
        String year = time < TinyRun.STEPS ? "1979.h5" : "1980.h5";
        InputDamage.setValue(data.resolve("tiny/train").resolve(year), time % TinyRun.STEPS, 1, 3, 4, Float.NaN);
    }

    private static int inputTime(int sample) {
        int first = sample < TinyRun.STEPS ? 0 : TinyRun.STEPS;
        return first + Math.max(1, sample % TinyRun.STEPS % (TinyRun.STEPS - 1));
    }

    /** The times of the inputs and targets of a step of the first epoch. */
    private static Set<Integer> times(int step) {
        return IntStream.of(samples(0, step)).map(NonFiniteStepTest::inputTime)
            .flatMap(time -> IntStream.of(time, time + 1)).boxed().collect(Collectors.toCollection(TreeSet::new));
    }

    /** The samples of a step of an epoch, both counted from 0. */
    private static int[] samples(int epoch, int step) {
        int[] order = new DistributedSampler(2 * TinyRun.STEPS, 2, 1, 0, true, 1).epoch(epoch);
        return new int[] {order[2 * step], order[2 * step + 1]};
    }

    private int replay() {
        return replay(TinyRun.directory(logs));
    }

    private int replay(Path directory) {
        return StepReplay.run(directory, Map.of("threads", "1"), System.getenv(), lines::add);
    }

    private String said() {
        return String.join("\n", lines);
    }

    @Test
    void skippingContinuesTheRun() throws IOException {
        spoil(samples(0, 5)[1]);
        String screen = TinyRun.of(data, logs, "num_iters=12", SKIP).succeeded().screen();
        assertTrue(screen.contains("WARNING - Step skipped: the loss is NaN at step "), screen);
        assertTrue(screen.contains("the data are not finite: NaN in sample "), screen);
        assertFalse(screen.contains("Avg train loss=nan") || screen.contains("ERROR"), screen);
    }

    @Test
    void tenSkippedStepsInARowEndTheRun() {
        TinyRun run = TinyRun.of(data, logs, "num_iters=12", SKIP, "lr=1e30", "checkpoint_every=1");
        PreviousRunFiles.assertOneError(run,
            List.of("the losses of 10 steps in a row are not finite; the last: the loss is ",
            " at step 11, sample "));
        assertEquals(9, run.screen().split("Step skipped: ", -1).length - 1, run.screen());
        assertEquals(1, replay(), this::said);
        assertTrue(said().contains(" in fp32, sample by sample"), said());
        assertTrue(said().contains("first layer whose output is not finite: blocks.0."), said());
        assertTrue(said().contains("first parameter whose gradient is not finite: head.weight"), said());
        assertTrue(said().endsWith("Reproduced: not all numbers are finite."), said());
    }

    /** Steps 2 to 11 are skipped. Step 12 would change the weights. */
    @Test
    void theStateBeforeTheTenthSkippedStepIsSaved() throws IOException {
        for (int step = 1; step <= 10; step++) {
            Set<Integer> times = times(step);
            times.removeAll(times(0));
            times.removeAll(times(11));
            spoilTime(times.iterator().next());
        }
        PreviousRunFiles.assertOneError(TinyRun.of(data, logs, "num_iters=12", SKIP, "checkpoint_every=10"),
            List.of("the losses of 10 steps in a row are not finite; the last: the loss is ", " at step 11, sample "));
        Path run = TinyRun.directory(logs);
        assertEquals(-1, Files.mismatch(run.resolve("checkpoints/checkpoint-10/rank-00000.safetensors"),
            run.resolve("nonfinite/checkpoint-10/rank-00000.safetensors")));
        for (String saved : List.of("checkpoints", "nonfinite")) {
            String state = Files.readString(run.resolve(saved + "/checkpoint-10/checkpoint.json"));
            assertTrue(state.replace(" ", "").contains("\"badSteps\":9,"), state);
        }
    }

    /** The first loss of all is that of the first micro-batch alone. */
    @Test
    void aBadFirstStepIsReplayed() throws IOException {
        spoil(samples(0, 0)[1]);
        PreviousRunFiles.assertOneError(TinyRun.of(data, logs, "num_iters=12", "accumulate_steps=2"),
            List.of("the loss is NaN at step 1, sample "));
        assertEquals(1, replay(TinyRun.directory(logs).resolve("nonfinite")), this::said);
        assertTrue(said().endsWith("Reproduced: not all numbers are finite."), said());
    }

    @Tag("cuda")
    @ParameterizedTest
    @CsvSource({"none, blocks.0.", "fp16, patch_embed.proj", "bf16, blocks.0."}) // these weights are infinite in fp16
    void gpuNamesTheLayer(String type, String layer) throws IOException {
        PreviousRunFiles.assertOneError(TinyRun.of(data, logs, "num_iters=12", "device=cuda", "amp_mode=" + type,
            "enable_cuda_graphs=true", "lr=1e30"), List.of("the loss is NaN at step 2, sample ",
                "; first layer whose output is not finite: " + layer));
        TinyRun.of(data, logs, "num_iters=12", "device=cuda", "amp_mode=" + type).succeeded();
        assertEquals(0, replay(), this::said);
        spoil(samples(1, 0)[0]);
        assertEquals(1, replay(), this::said);
        assertTrue(said().contains("first layer whose output is not finite: patch_embed.proj"), said());
    }

    @Test
    void finiteStepIsReplayedWithTheSameLoss() throws IOException {
        TinyRun.of(data, logs, "num_iters=12").succeeded();
        assertEquals(0, replay(), this::said);
        assertTrue(lines.get(1).startsWith("Replaying step 13 (epoch 2, step 1 of it; 2 samples) after "), said());
        assertTrue(said().endsWith("All numbers are finite."), said());
        int[] samples = samples(1, 0);
        for (int place = 0; place < samples.length; place++) {
            assertTrue(lines.get(2 + place).startsWith("sample " + samples[place] + ": loss 0."), said());
        }
    }

    /** The residual stream is even larger, but always in single precision. */
    @Test
    void overflowInFp16IsNamed() {
        TinyRun.of(data, logs, "num_iters=12", "lr=30").succeeded();
        assertEquals(0, replay(), this::said);
        assertTrue(lines.get(lines.size() - 2).matches(
            "beyond the fp16 maximum of 65504: the output of blocks\\.\\d\\.(attn|mlp)\\.\\w+, up to \\d.*"), said());
    }

    @Test
    void badDataOfTheStepIsNamed() throws IOException {
        TinyRun.of(data, logs, "num_iters=12").succeeded();
        int bad = samples(1, 0)[1];
        spoil(bad);
        assertEquals(1, replay(), this::said);
        String line = lines.get(3);
        assertTrue(line.startsWith("sample " + bad + ": loss NaN; first layer whose output is not finite: "
            + "patch_embed.proj; first parameter whose gradient is not finite: head.weight; the data are not finite: "
            + "NaN in sample " + bad), said());
    }
}
