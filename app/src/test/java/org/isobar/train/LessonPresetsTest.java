package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.distributed.job.JobSecret;
import org.isobar.telemetry.Screen;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each preset of a lesson does what the lesson needs; the runs have smaller fields and models. */
class LessonPresetsTest {
    private static final String SMALL_FIELDS = "img_size=[16, 32]";
    private static final String NARROW = "embed_dim=32";

    @TempDir
    private static Path directory; // shared: two lessons read the same data

    /** What a run printed, and its exit code. */
    private record Outcome(int code, String screen) {
        private List<Double> losses(String kind) {
            return Pattern.compile("Avg " + kind + " loss=(\\S+)").matcher(screen).results()
                .map(line -> Double.valueOf(line.group(1))).toList();
        }
    }

    @Test
    void trainingLossFallsWhileValidationLossRises() {
        Outcome run = train("lesson_overfit", SMALL_FIELDS, NARROW, "depth=1", "limit_nsamples=4", "lr=1e-2",
            "num_iters=100", "keep=0");
        assertEquals(0, run.code(), run.screen());
        List<Double> training = run.losses("train");
        List<Double> validation = run.losses("val");
        int best = IntStream.range(0, validation.size()).boxed()
            .min(Comparator.comparing(validation::get)).orElseThrow();
        assertTrue(best < 3 * validation.size() / 4, () -> "smallest in epoch " + best + ": " + validation);
        assertTrue(validation.getLast() > 1.02 * validation.get(best), validation::toString);
        assertTrue(training.getLast() < 0.8 * training.get(best), training::toString);
    }

    @Test
    void divergenceIsDiagnosed() {
        Outcome run = train("lesson_diverge", SMALL_FIELDS, NARROW, "depth=1", "n_in_channels=3", "n_out_channels=3");
        assertEquals(2, run.code(), run.screen());
        assertTrue(Pattern.compile("ERROR - the loss is NaN at step \\d+, sample \\d+: the data are finite, so "
            + "training has diverged; lower lr, or lengthen warmup; first layer")
            .matcher(run.screen()).find(), run.screen());
    }

    /**
     * Per byte of its samples, a step computes a fiftieth of what a step of demo does; and to read a sample, the loader
     * reads eight time steps.
     */
    @Test
    void aStepOfTheLoadersLessonIsMostlyReading() {
        RunConfig lesson = config("lesson_loader");
        assertEquals(0, lesson.data().numDataWorkers());
        assertEquals(8, lesson.data().synthetic().orElseThrow().chunkSteps().orElseThrow());
        assertTrue(intensity(lesson) < intensity(config("demo")) / 50,
            () -> intensity(lesson) + " and " + intensity(config("demo")));
    }

    private static double intensity(RunConfig config) {
        long bytes = 4 * (config.model().input(1).elements() + config.model().prediction(1).elements());
        return MemoryPlan.of(config.model(), 1).stepFlops() / bytes;
    }

    @Test
    void theMemoryLimitIsExceededUntilTheBatchIsAccumulated() {
        Outcome refused = train("lesson_memory");
        assertEquals(2, refused.code(), refused.screen());
        assertTrue(Pattern.compile("ERROR - this run needs 2\\.\\d\\d GB of memory \\(.*\\) and memory_limit allows "
            + "each process 2\\.00 GB, .* or with --local_batch_size 64 --accumulate 2 \\(the same global batch\\)")
            .matcher(refused.screen()).find(), refused.screen());
        String[] smaller = {SMALL_FIELDS, "embed_dim=48", "depth=1", "num_iters=2", "memory_limit=190MB", "keep=0"};
        assertEquals(2, train("lesson_memory", smaller).code());
        Outcome trained = train("lesson_memory", Stream.concat(Stream.of(smaller),
            Stream.of("local_batch_size=8", "accumulate_steps=16")).toArray(String[]::new));
        assertEquals(0, trained.code(), trained.screen());
    }

    private Outcome train(String preset, String... settings) {
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        int code = TrainingRun.run(config(preset, settings), new RunContext(JobSecret.none(), Map.of(),
            Screen.plain(screen), StopRequest.NONE));
        return new Outcome(code, screen.toString(StandardCharsets.UTF_8));
    }

    private RunConfig config(String preset, String... settings) {
        ConfigRequest request = new ConfigRequest(Path.of("..", "config", "ViT.yaml"), preset, Map.of())
            .with("data_dir", directory.toString()).with("expdir", directory.resolve("logs").toString())
            .with("device", "cpu");
        for (String setting : settings) {
            request = request.set(setting);
        }
        return ConfigLoader.load(request);
    }
}
