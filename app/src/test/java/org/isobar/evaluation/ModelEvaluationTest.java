package org.isobar.evaluation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntFunction;
import java.util.stream.Stream;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.isobar.backend.host.FreePorts;
import org.isobar.cli.Main;
import org.isobar.cli.options.ProgramContext;
import org.isobar.data.ClimatologyFile;
import org.isobar.data.CropWindow;
import org.isobar.data.Era5Frames;
import org.isobar.data.Normalization;
import org.isobar.data.NpyFile;
import org.isobar.distributed.job.JobSecret;
import org.isobar.forecast.ForecastModel;
import org.isobar.scores.AreaWeights;
import org.isobar.telemetry.EventFile;
import org.isobar.telemetry.Screen;
import org.isobar.train.RunContext;
import org.isobar.train.TinyRun;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** Evaluates a trained model on its validation year of 12 frames. */
class ModelEvaluationTest {
    private static final int YEAR = 1981;
    private static final int STEPS = 3;
    private static final int STARTS = 9; // frames 0 to 8 have three more in the year
    private static final CropWindow WINDOW = new CropWindow(3, 16, 32);
    @TempDir
    private static Path directory;
    private static Path data;
    private static Path run;
    private static Map<String, Double> expected;

    @BeforeAll
    static void train() throws IOException {
        TinyRun.synthesize(directory);
        data = directory.resolve("tiny");
        run = TinyRun.of(directory, directory.resolve("logs"), "num_iters=12", "validate_rollout=2",
            "final_rollout=" + STEPS).succeeded().directory();
        assertEquals("", evaluate("first", "--model=" + run, "--data_dir=" + data, "--lead_steps=" + STEPS));
        expected = values("first");
    }

    /** Runs the command in this process; returns its error line. */
    private static String evaluate(String out, String... options) {
        List<String> line = new ArrayList<>(List.of("evaluate", "--out=" + directory.resolve(out)));
        Collections.addAll(line, options);
        CommandLine main = Main.commandLine(new ProgramContext(Path.of(".."), Map.of("ISOBAR_THREADS", "1")));
        StringWriter errors = new StringWriter();
        main.setErr(new PrintWriter(errors));
        int code = Main.execute(main, line.toArray(String[]::new));
        assertEquals(errors.toString().isEmpty() ? 0 : 2, code, errors::toString);
        return errors.toString();
    }

    private static JsonNode json(String out) throws IOException {
        return new ObjectMapper().readTree(directory.resolve(out).resolve("scores.json").toFile());
    }

    private static Map<String, Double> values(String out) throws IOException {
        Map<String, Double> values = new LinkedHashMap<>();
        for (JsonNode score : json(out).get("scores")) {
            assertTrue(score.get("low").isNull() && score.get("high").isNull()); // three days are one block
            values.put(score.get("forecast").asText() + " " + score.get("variable").asText() + " "
                + score.get("lead_steps").asInt() + " " + score.get("metric").asText(),
                score.get("value").isNull() ? null : score.get("value").asDouble());
        }
        return values;
    }

    private static float[] frame(Era5Frames frames, int frame) {
        float[] fields = new float[(int) WINDOW.elements()];
        frames.read(YEAR, frame, Normalization.none(WINDOW.channels()), MemorySegment.ofArray(fields), 0);
        return fields;
    }

    /**
     * Root of the mean over initial times of area-weighted squared errors of channel 2, written out.
     *
     * @param forecast the fields that are forecast from a frame
     */
    private static double rmse(Era5Frames frames, int step, IntFunction<float[]> forecast) {
        double[] weights = AreaWeights.of(AreaWeights.tutorialLatitudes(WINDOW.height()));
        int pixels = WINDOW.height() * WINDOW.width();
        double sum = 0;
        for (int start = 0; start < STARTS; start++) {
            float[] truth = frame(frames, start + step);
            float[] fields = forecast.apply(start);
            for (int i = 2 * pixels; i < 3 * pixels; i++) {
                sum += weights[(i - 2 * pixels) / WINDOW.width()] * Math.pow((double) fields[i] - truth[i], 2);
            }
        }
        return Math.sqrt(sum / pixels / STARTS);
    }

    @Test
    void persistenceAndClimatologyAreScoredInUnitsOfTheData() {
        double[] file = NpyFile.read(data.resolve("stats/time_means.npy")).values();
        float[] means = new float[file.length];
        for (int i = 0; i < means.length; i++) {
            means[i] = (float) file[i];
        }
        try (Era5Frames frames = Era5Frames.of(data.resolve("valid"), WINDOW, 6)) {
            for (int step = 1; step <= STEPS; step++) {
                double persistence = rmse(frames, step, start -> frame(frames, start));
                assertEquals(persistence, expected.get("persistence t2m " + step + " rmse"), 1e-9 * persistence);
                double climatology = rmse(frames, step, start -> means);
                assertEquals(climatology, expected.get("climatology t2m " + step + " rmse"), 1e-9 * climatology);
                double model = expected.get("model t2m " + step + " rmse");
                assertEquals(1 - model / persistence, expected.get("model t2m " + step + " skill"), 1e-9);
            }
        }
    }

    /** A run ends with the scores of its model from all initial times, if these are no more than 16. */
    @Test
    void aRunLogsTheScoresOfItsModel() throws IOException {
        StringBuilder line = new StringBuilder("RMSE of 9 forecasts at 6 h, 18 h (persistence): ");
        for (String variable : List.of("u10", "t2m")) {
            line.append(variable);
            String separator = " ";
            for (int lead : List.of(1, STEPS)) {
                line.append(String.format(Locale.ROOT, "%s" + (variable.equals("u10") ? "%.2f" : "%.1f") + " (%.2f)",
                    separator,
                    expected.get("model " + variable + " " + lead + " rmse"),
                    expected.get("persistence " + variable + " " + lead + " rmse")));
                separator = ", ";
            }
            line.append(variable.equals("u10") ? " m/s; " : " K\n");
        }
        String log = Files.readString(run.resolve("out.log"));
        assertTrue(log.contains(line), () -> log + line);
        assertTrue(log.indexOf(line.toString()) < log.indexOf("DONE ---- rank 0"));
    }

    /** Roll-outs after an epoch start at four times; this epoch's weights are the run's. */
    @Test
    void tensorBoardHasTheScoresOfRollOuts() throws IOException {
        double[] spreads = NpyFile.read(data.resolve("stats/global_stds.npy")).values();
        try (Stream<Path> files = Files.list(run.resolve("logs"))) {
            EventFile events = EventFile.read(files.findFirst().orElseThrow());
            assertEquals(List.of("RMSE(u10m)/valid_6h @ 12", "RMSE(v10)/valid_6h @ 12", "RMSE(t2m)/valid_6h @ 12",
                "RMSE(u10m)/valid_12h @ 12", "RMSE(v10)/valid_12h @ 12", "RMSE(t2m)/valid_12h @ 12"),
                events.labels().stream().filter(label -> label.contains("h @ ")).toList());
            double all = expected.get("model t2m 1 rmse") / spreads[2]; // of nine times
            assertEquals(all, events.scalar("RMSE(t2m)/valid_6h", 12), 0.1 * all);
        }
    }

    @Test
    void aRollOutThatIsLongerThanTheYearIsNotScored() throws IOException {
        TinyRun longer = TinyRun.of(directory, directory.resolve("longer"), "num_iters=12", "validate_rollout=12",
            "final_rollout=12").succeeded();
        assertTrue(longer.log().contains("--validate_rollout 12: no forecasts of so many steps"), longer.log());
        assertTrue(longer.log().contains("No scores of forecasts of 12 steps"), longer.log());
    }

    @Test
    void theClimatologyOfEachDayIsThatOfTheValidTime() throws IOException {
        Path climatology = directory.resolve("climatology.h5");
        assertEquals(0, Main.execute(Main.commandLine(new ProgramContext(Path.of(".."), Map.of())), "data",
            "climatology", data.resolve("train").toString(), "--out=" + climatology));
        assertEquals("", evaluate("daily", "--model=" + run, "--data_dir=" + data, "--lead_steps=" + STEPS,
            "--climatology=" + climatology));
        Map<String, Double> scores = values("daily");
        try (Era5Frames frames = Era5Frames.of(data.resolve("valid"), WINDOW, 6);
                ClimatologyFile days = ClimatologyFile.open(climatology)) {
            int last = STEPS;
            double value = rmse(frames, last, start -> {
                float[] fields = new float[(int) WINDOW.elements()];
                days.read((start + last) * 6, WINDOW, MemorySegment.ofArray(fields), 0);
                return fields;
            });
            assertEquals(value, scores.get("climatology t2m " + last + " rmse"), 1e-9 * value);
        }
        assertEquals(expected.get("model t2m 3 rmse"), scores.get("model t2m 3 rmse"));
        assertNotEquals(expected.get("model t2m 3 acc"), scores.get("model t2m 3 acc"));
        assertTrue(json("daily").get("definitions").get("climatology").asText().contains("day of year"));
    }

    @Test
    void resultsNameTheirTimesAndFiles() throws IOException {
        JsonNode times = json("first").get("initial_times");
        assertEquals(STARTS, times.size());
        assertEquals("1981-01-01T06:00:00", times.get(1).asText());
        assertTrue(json("first").get("definitions").get("climatology").asText().contains("time_means.npy"));
        for (String name : List.of("scores.csv", "spectra.csv", "scorecard.svg", "rmse.svg", "acc.svg",
                "spectra.svg")) {
            assertTrue(Files.size(directory.resolve("first").resolve(name)) > 0, name);
        }
    }

    @Test
    void everyFourthFrameStarts() throws IOException {
        evaluate("second", "--model=" + run, "--data_dir=" + data, "--lead_steps=2", "--every=4", "--split=test",
            "--plot=u10");
        JsonNode times = json("second").get("initial_times");
        assertEquals("[\"1982-01-01T00:00:00\",\"1982-01-02T00:00:00\",\"1982-01-03T00:00:00\"]", times.toString());
    }

    @Test
    void aPresetWithWeightsIsTheSameModel() throws IOException {
        List<String> options = new ArrayList<>(List.of("--yaml_config=../config/ViT.yaml", "--config=tiny",
            "--weights=" + run.resolve("model.safetensors"), "--data_dir=" + directory, "--lead_steps=" + STEPS,
            "--local_batch_size=4"));
        TinyRun.SMALLER.forEach(setting -> options.addAll(List.of("--set", setting)));
        assertEquals("", evaluate("preset", options.toArray(String[]::new)));
        assertClose(expected, values("preset"));
    }

    /** Batches with a remainder, replicas with unequal shares, and a replica that is cut. */
    @ParameterizedTest
    @CsvSource({"2, 2, 1, 1", "2, 3, 2, 1", "2, 1, 1, 2", "4, 1, 2, 2"})
    void everyLayoutGivesTheSameScores(int ranks, String batch, String tp, String cp) throws Exception {
        Path out = directory.resolve("layout" + ranks + tp + cp);
        EvaluationPlan plan = new EvaluationPlan(data.resolve("valid"), data.resolve("train"),
            data.resolve("stats/time_means.npy"), STEPS, 1, 0, List.of(), EvaluationPlan.PART_FIELDS, out);
        String port = String.valueOf(FreePorts.one());
        List<Callable<Integer>> work = new ArrayList<>();
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        for (int rank = 0; rank < ranks; rank++) {
            Map<String, String> environment = Map.of("RANK", String.valueOf(rank), "LOCAL_RANK", String.valueOf(rank),
                "WORLD_SIZE", String.valueOf(ranks), "MASTER_ADDR", "127.0.0.1", "MASTER_PORT", port,
                "ISOBAR_THREADS", "1");
            ForecastModel model = ForecastModel.open(run, Map.of("local_batch_size", batch, "tensor_parallel", tp,
                "context_parallel", cp), environment);
            work.add(() -> ModelEvaluation.run(model, plan, new RunContext(JobSecret.none(), environment,
                Screen.plain(screen), StopRequest.NONE)));
        }
        try (ExecutorService threads = Executors.newFixedThreadPool(ranks)) {
            for (Future<Integer> code : threads.invokeAll(work)) {
                assertEquals(0, code.get(), () -> screen.toString(StandardCharsets.UTF_8));
            }
        }
        assertClose(expected, values("layout" + ranks + tp + cp));
    }

    /** Scores differ by the rounding of single precision in the model. */
    private static void assertClose(Map<String, Double> scores, Map<String, Double> others) {
        assertEquals(scores.keySet(), others.keySet());
        scores.forEach((key, value) -> {
            if (value == null) {
                assertEquals(null, others.get(key), key);
            } else {
                assertEquals(value, others.get(key), 1e-6 * Math.max(1, Math.abs(value)), key);
            }
        });
    }

    @Test
    void twoModelsAreCompared() throws IOException {
        Path other = TinyRun.of(directory, directory.resolve("other"), "num_iters=12", "lr=1e-30").succeeded()
            .directory();
        assertEquals("", evaluate("compared", "--model=" + run, "--model=" + other, "--data_dir=" + data,
            "--lead_steps=" + STEPS));
        assertEquals("", evaluate("swapped", "--model=" + other, "--model=" + run, "--data_dir=" + data,
            "--lead_steps=" + STEPS));
        Map<String, Double> compared = values("compared");
        Map<String, Double> swapped = values("swapped");
        for (String lead : List.of("t2m 1", "u10 3")) {
            double difference = compared.get("model " + lead + " rmse") - swapped.get("model " + lead + " rmse");
            assertTrue(difference < 0, lead); // the other model has its initial weights
            assertEquals(difference, compared.get("model " + lead + " rmse_minus_second_model"), lead);
            assertEquals(-difference, swapped.get("model " + lead + " rmse_minus_second_model"), lead);
        }
        expected.forEach((key, value) -> assertEquals(value, compared.get(key), key));
        assertEquals(other.resolve("model.safetensors").toString(),
            json("compared").get("definitions").get("second_model").asText());
    }

    @Test
    void whatCannotBeEvaluatedIsRefused() {
        assertTrue(evaluate("x", "--model=" + run, "--model=" + run, "--model=" + run, "--lead_steps=1")
            .contains("compare two models at a time"));
        assertTrue(evaluate("x", "--lead_steps=1").contains("name the model with --model"));
        assertTrue(evaluate("x", "--model=" + run, "--lead_steps=1").contains("--data_dir is missing"));
        assertTrue(evaluate("x", "--model=" + run, "--data_dir=" + data, "--lead_steps=0").contains("1 or more"));
        assertTrue(Files.notExists(directory.resolve("x")));
    }
}
