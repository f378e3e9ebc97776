package org.isobar.evaluation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.isobar.bench.suite.PythonInterpreter;
import org.isobar.data.CropWindow;
import org.isobar.data.Era5Frames;
import org.isobar.data.Normalization;
import org.isobar.data.NpyFile;
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

/**
 * Scores of a model against those that {@code tools/reference/forecast_scores.py} computes from the store of the same
 * forecasts and the data. The model has its initial weights, because trained ones depend on how the processor rounds.
 */
class IndependentScoresTest {
    private static final int STEPS = 3;
    private static final int YEAR = 1981;
    private static final CropWindow WINDOW = new CropWindow(3, 16, 32);
    private static final double TOLERANCE = 1e-5;
    private static final Map<String, String> ENVIRONMENT = Map.of("ISOBAR_THREADS", "1");
    @TempDir
    private static Path directory;
    private static Path data;
    private static ForecastModel model;

    @BeforeAll
    static void evaluate() {
        TinyRun.synthesize(directory);
        data = directory.resolve("tiny");
        Path run = TinyRun.of(directory, directory.resolve("logs"), "num_iters=12", "lr=1e-30").succeeded().directory();
        model = ForecastModel.open(run, Map.of(), ENVIRONMENT);
        assertEquals(0, ModelEvaluation.run(model, new EvaluationPlan(data.resolve("valid"),
            data.resolve("stats/time_means.npy"), STEPS, 1, 0, List.of(),
            EvaluationPlan.PART_FIELDS, directory.resolve("scores")), context()));
    }

    private static RunContext context() {
        return new RunContext(JobSecret.none(), ENVIRONMENT, Screen.plain(System.out), StopRequest.NONE);
    }

    /** Each number differs by at most 1e-5 of its size; numbers without a unit, of which 1 is the size, by 1e-5. */
    @Test
    void scoresAreThoseOfTheGoldenFile() throws IOException {
        JsonNode golden;
        try (InputStream file = IndependentScoresTest.class.getResourceAsStream("golden_scores.json")) {
            golden = new ObjectMapper().readTree(file);
        }
        JsonNode scores = new ObjectMapper().readTree(directory.resolve("scores/scores.json").toFile()).get("scores");
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
    @Test
    void pythonComputesTheSameFromTheStore() throws Exception {
        PythonInterpreter python = PythonInterpreter.with("numpy", Optional.empty());
        assumeTrue(python.program().isPresent(), python.answer());
        Path store = directory.resolve("forecast.zarr");
        assertEquals(0, ForecastRun.run(model, new ForecastRun.Request(data,
            IntStream.range(0, 9).mapToObj(frame -> new StartTime(YEAR, frame, 6)).toList(), STEPS, store), context()));
        Path years = Files.createDirectory(directory.resolve("years"));
        float[] frames = new float[Math.toIntExact(12 * WINDOW.elements())];
        try (Era5Frames file = Era5Frames.of(data, WINDOW, 6)) {
            for (int frame = 0; frame < 12; frame++) {
                file.read(YEAR, frame, Normalization.none(3), MemorySegment.ofArray(frames), frame * WINDOW.bytes());
            }
        }
        new NpyFile(DType.F32, Shape.of(12, 3, 16, 32),
            IntStream.range(0, frames.length).mapToDouble(i -> frames[i]).toArray()).write(years.resolve("1981.npy"));
        Process script = new ProcessBuilder(python.program().get(), "-B", "../tools/reference/forecast_scores.py",
            store.toString(), years.toString(), data.resolve("stats/time_means.npy").toString(), "--compare",
            directory.resolve("scores").toString(), "--write", "target/golden_scores.json").inheritIO().start();
        assertEquals(0, script.waitFor());
    }
}
