package org.isobar.evaluation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.isobar.bench.suite.PythonInterpreter;
import org.isobar.data.CropWindow;
import org.isobar.data.Era5Frames;
import org.isobar.data.Era5Variable;
import org.isobar.data.Normalization;
import org.isobar.data.NpyFile;
import org.isobar.data.synthetic.SyntheticConfig;
import org.isobar.data.synthetic.SyntheticEra5;
import org.isobar.distributed.job.JobSecret;
import org.isobar.forecast.ForecastModel;
import org.isobar.forecast.ForecastRun;
import org.isobar.forecast.StartTime;
import org.isobar.telemetry.Screen;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.train.RunContext;
import org.isobar.train.TinyRun;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Scores of models against those that {@code tools/reference/forecast_scores.py} computes from the store of the same
 * forecasts and the data. The models have their initial weights, because trained ones depend on how the processor
 * rounds.
 */
@Execution(ExecutionMode.CONCURRENT)
class IndependentScoresTest {
    private static final int STEPS = 3;
    private static final int YEAR = 1981;
    private static final double TOLERANCE = 1e-5;
    private static final Map<String, String> ENVIRONMENT = Map.of("ISOBAR_THREADS", "1");
    private static final Map<Size, ForecastModel> MODELS = new EnumMap<>(Size.class);
    @TempDir
    private static Path directory;

    /** A model. */
    private enum Size {
        /** The smallest one, whose scores the golden file has. */
        TINY(new CropWindow(3, 16, 32), TinyRun.WIDER, "num_heads=4", TinyRun.TWO_BLOCKS),
        /** A small model with the fields of preset {@code demo}. */
        DEMO(new CropWindow(Era5Variable.COUNT, 64, 128), "n_in_channels=20", "n_out_channels=20",
            "img_size=[64, 128]");

        private final CropWindow window;
        private final String[] settings;

        Size(CropWindow window, String... settings) {
            this.window = window;
            this.settings = settings;
        }

        Path path(String name) {
            return directory.resolve(this + "/" + name);
        }

        Path data() {
            return path("tiny");
        }

        Path climatology() {
            return data().resolve("stats/time_means.npy");
        }

        /** Evaluates the model. */
        ForecastModel evaluate() {
            SyntheticEra5.write(new SyntheticConfig(window.height(), window.width(), 2, 1, 1, TinyRun.STEPS, 1), data(),
                SyntheticEra5.Existing.KEEP, line -> { });
            Path run = TinyRun.of(path(""), path("logs"), Stream.concat(Stream.of("lr=1e-30", "num_iters=1",
                "limit_nsamples=2", "limit_nsamples_val=2"), Stream.of(settings)).toArray(String[]::new))
                .succeeded().directory();
            ForecastModel model = ForecastModel.open(run, Map.of(), ENVIRONMENT);
            assertEquals(0, ModelEvaluation.run(model, new EvaluationPlan(data().resolve("valid"),
                data().resolve("train"), climatology(), STEPS, 1, 0, List.of(), EvaluationPlan.PART_FIELDS,
                path("scores")), context()));
            return model;
        }
    }
    @BeforeAll
    static void evaluate() {
        for (Size size : Size.values()) {
            MODELS.put(size, size.evaluate());
        }
    }

    /** Each number differs by at most 1e-5 of its size; numbers without a unit, of which 1 is the size, by 1e-5. */
    @Test
    void scoresAreThoseOfTheGoldenFile() throws IOException {
        JsonNode golden;
        try (InputStream file = IndependentScoresTest.class.getResourceAsStream("golden_scores.json")) {
            golden = new ObjectMapper().readTree(file);
        }
        JsonNode scores = new ObjectMapper().readTree(Size.TINY.path("scores/scores.json").toFile()).get("scores");
        assertEquals(golden.size(), scores.size());
        for (JsonNode score : scores) {
            String metric = score.get("metric").asText();
            String key = String.join(" ", score.get("forecast").asText(), score.get("variable").asText(),
                score.get("lead_steps").asText(), metric);
            assertTrue(golden.has(key), key);
            assertEquals(golden.get(key).isNull(), score.get("value").isNull(), key);
            double expected = golden.get(key).asDouble();
            boolean relative = List.of("rmse", "mse", "mae", "activity").contains(metric);
            assertEquals(expected, score.get("value").asDouble(), TOLERANCE * (relative ? expected : 1), key);
        }
    }

    /** Also writes the golden file, to {@code target}. */
    @ParameterizedTest
    @EnumSource
    void pythonComputesTheSameFromTheStore(Size size) throws Exception {
        PythonInterpreter python = PythonInterpreter.with("numpy", Optional.empty());
        assumeTrue(python.program().isPresent(), python.answer());
        assertEquals(0, ForecastRun.run(MODELS.get(size), new ForecastRun.Request(size.data(),
            IntStream.range(0, 9).mapToObj(frame -> new StartTime(YEAR, frame, 6)).toList(), STEPS,
            size.path("forecast.zarr")), context()));
        Path years = Files.createDirectory(size.path("years"));
        writeFrames(size, years.resolve(YEAR + ".npy"));
        Process script = new ProcessBuilder(python.program().get(), "-B", "../tools/reference/forecast_scores.py",
            size.path("forecast.zarr").toString(), years.toString(), size.climatology().toString(), "--compare",
            size.path("scores").toString(), "--write",
            "target/golden_scores" + (size == Size.TINY ? "" : "_" + size) + ".json").redirectErrorStream(true).start();
        String said = new String(script.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, script.waitFor(), said);
    }

    /** Writes all frames of the year as a NumPy array. */
    private static void writeFrames(Size size, Path path) throws IOException {
        CropWindow window = size.window;
        float[] values = new float[Math.toIntExact(TinyRun.STEPS * window.elements())];
        try (Era5Frames file = Era5Frames.of(size.data(), window, 6)) {
            for (int frame = 0; frame < TinyRun.STEPS; frame++) {
                file.read(YEAR, frame, Normalization.none(window.channels()), MemorySegment.ofArray(values),
                    frame * window.bytes());
            }
        }
        new NpyFile(DType.F32, Shape.of(TinyRun.STEPS, window.channels(), window.height(), window.width()),
            IntStream.range(0, values.length).mapToDouble(i -> values[i]).toArray()).write(path);
    }

    private static RunContext context() {
        return new RunContext(JobSecret.none(), ENVIRONMENT, Screen.plain(System.out), StopRequest.NONE);
    }
}
