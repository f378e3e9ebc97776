package org.isobar.evaluation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.isobar.distributed.job.JobSecret;
import org.isobar.forecast.ForecastModel;
import org.isobar.telemetry.Screen;
import org.isobar.train.RunContext;
import org.isobar.train.TinyRun;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Evaluates a model on a GPU. */
@Tag("cuda")
class CudaEvaluationTest {
    private static final Map<String, String> FULL_PRECISION = fullPrecision();
    @TempDir
    private Path directory;

    private static Map<String, String> fullPrecision() {
        Map<String, String> environment = new HashMap<>(System.getenv()); // it may name the cache of kernels
        environment.put("NVIDIA_TF32_OVERRIDE", "0");
        return environment;
    }

    @Test
    void aGpuGivesTheScoresOfTheCpu() throws IOException {
        TinyRun.synthesize(directory);
        Path run = TinyRun.of(directory, directory.resolve("logs"), "device=cpu", "num_iters=12").succeeded()
            .directory();
        JsonNode expected = scores(run, "cpu");
        JsonNode scores = scores(run, "cuda");
        assertEquals(expected.size(), scores.size());
        for (int i = 0; i < scores.size(); i++) {
            double value = expected.get(i).get("value").asDouble();
            assertEquals(value, scores.get(i).get("value").asDouble(), 1e-6 * Math.max(1, Math.abs(value)),
                scores.get(i)::toString);
        }
    }

    private JsonNode scores(Path run, String device) throws IOException {
        Path data = directory.resolve("tiny");
        EvaluationPlan plan = new EvaluationPlan(data.resolve("valid"), data.resolve("train"),
            data.resolve("stats/time_means.npy"), 1, 4, 0, List.of("u10"), EvaluationPlan.PART_FIELDS,
            directory.resolve(device));
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        assertEquals(0, ModelEvaluation.run(ForecastModel.open(run, Map.of("device", device, "local_batch_size", "2"),
            FULL_PRECISION), plan, new RunContext(JobSecret.none(), FULL_PRECISION, Screen.plain(screen),
            StopRequest.NONE)), () -> screen.toString(StandardCharsets.UTF_8));
        assertEquals(device.equals("cuda"), screen.toString(StandardCharsets.UTF_8).contains("compute capability"),
            screen::toString);
        JsonNode scores = new ObjectMapper().readTree(directory.resolve(device).resolve("scores.json").toFile())
            .get("scores");
        assertTrue(scores.size() > 0);
        return scores;
    }
}
