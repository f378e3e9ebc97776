package org.isobar.evaluation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

import org.isobar.data.NpyFile;
import org.isobar.data.synthetic.SyntheticConfig;
import org.isobar.data.synthetic.SyntheticEra5;
import org.isobar.distributed.job.JobSecret;
import org.isobar.forecast.ForecastModel;
import org.isobar.telemetry.Screen;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.train.InputDamage;
import org.isobar.train.RunContext;
import org.isobar.train.TinyRun;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Evaluations that end before they are done: what they say, and how they continue. */
class EndedEvaluationTest {
    private static final int STEPS = 3;
    @TempDir
    private static Path directory;
    private static Path data;
    private static Path run;

    @BeforeAll
    static void train() {
        TinyRun.synthesize(directory);
        data = directory.resolve("tiny");
        run = TinyRun.of(directory, directory.resolve("logs"), "num_iters=12").succeeded().directory();
    }

    @Test
    void aDamagedTruthIsNamed() throws IOException {
        Path years = Files.createDirectories(directory.resolve("damaged/valid"));
        Files.copy(data.resolve("valid/1981.h5"), years.resolve("1981.h5"));
        InputDamage.setValue(years.resolve("1981.h5"), 11, 2, 5, 7, Float.NaN);
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        assertEquals(2, evaluate(years, 1, "u10", screen));
        assertTrue(screen.toString(StandardCharsets.UTF_8).contains("the field of 1981-01-03T18, which "
            + "forecasts are compared with, is not finite: NaN in " + years), screen::toString);
    }

    /** An evaluation that was ended is continued after the last initial time that was scored. */
    @Test
    void anEndedEvaluationIsContinued() throws IOException {
        Path years = Files.createDirectories(directory.resolve("repaired/valid"));
        Path year = years.resolve("1981.h5");
        Files.copy(data.resolve("valid/1981.h5"), year);
        FileTime modified = Files.getLastModifiedTime(year);
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        assertEquals(0, evaluate(years, STEPS, "u10", screen), screen::toString);
        Map<String, String> expected = files("ended");
        assertEquals(List.of("acc.svg", "rmse.svg", "scorecard.svg", "scores.csv", "scores.json", "spectra.csv",
            "spectra.svg"), List.copyOf(expected.keySet()));
        InputDamage.setValue(year, 11, 2, 5, 7, Float.NaN);
        assertEquals(2, evaluate(years, STEPS, "u10", screen));
        Files.setLastModifiedTime(year, FileTime.fromMillis(modified.toMillis() + 2000));
        screen.reset();
        assertEquals(2, evaluate(years, STEPS, "u10", screen)); // again, for the file was modified
        assertFalse(screen.toString(StandardCharsets.UTF_8).contains("Continuing"), screen::toString);
        Files.copy(data.resolve("valid/1981.h5"), year, StandardCopyOption.REPLACE_EXISTING);
        Files.setLastModifiedTime(year, FileTime.fromMillis(modified.toMillis() + 2000));
        Files.writeString(directory.resolve("ended/unfinished/identity.txt.0123456789abcdef.tmp"), "half of it");
        Path part = directory.resolve("ended/unfinished/00007.scores");
        FileTime written = Files.getLastModifiedTime(part);
        screen.reset();
        assertEquals(2, evaluate(years, STEPS, "wind", screen)); // refused before it begins
        assertEquals(written, Files.getLastModifiedTime(part));
        assertEquals(0, evaluate(years, STEPS, "u10", screen));
        assertTrue(screen.toString(StandardCharsets.UTF_8).contains("Continuing: the forecasts from 8 of 9 initial "
            + "times are scored already"), screen::toString);
        assertEquals(expected, files("ended"));
    }

    private static Map<String, String> files(String out) throws IOException {
        Map<String, String> files = new TreeMap<>();
        try (Stream<Path> all = Files.list(directory.resolve(out))) {
            for (Path file : all.toList()) {
                files.put(file.getFileName().toString(), Files.readString(file));
            }
        }
        return files;
    }

    /** Copies the model with a change of its configuration. */
    private static Path changed(String name, String from, String to) throws IOException {
        Path copy = Files.createDirectories(directory.resolve(name).resolve("stats"));
        for (String file : List.of("model.safetensors", "stats/global_means.npy", "stats/global_stds.npy")) {
            Files.copy(run.resolve(file), copy.resolveSibling(file));
        }
        String config = Files.readString(run.resolve("config.json"));
        assertTrue(config.contains(from), config);
        Files.writeString(copy.resolveSibling("config.json"), config.replace(from, to));
        return copy.getParent();
    }

    @Test
    void modelsOfOtherVariablesAreNotCompared() throws IOException {
        Path wind = changed("wind", "\"v10\"", "\"wind\"");
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        assertEquals(2, ModelEvaluation.run(model(run), Optional.of(model(wind)), plan(data.resolve("valid"), 1,
            List.of()), context(screen)));
        assertTrue(screen.toString(StandardCharsets.UTF_8).contains("differ in their variables"), screen::toString);
    }

    @Test
    void aForecastThatOverflowsIsNamed() throws IOException {
        Path huge = changed("huge", "channels", "channels");
        Shape shape = Shape.of(1, 3, 1, 1);
        new NpyFile(DType.F32, shape, new double[] {3.4028e38, 0, 0}).write(huge.resolve("stats/global_means.npy"));
        new NpyFile(DType.F32, shape, new double[] {1e36, 1, 1}).write(huge.resolve("stats/global_stds.npy"));
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        assertEquals(2, ModelEvaluation.run(model(huge), plan(data.resolve("valid"), 2, List.of()), context(screen)));
        assertTrue(screen.toString(StandardCharsets.UTF_8).matches("(?s).*the forecast from 1981-01-01T00 is not "
            + "finite at step [12] \\(.*Infinity in u10, row .*"), screen::toString);
    }

    @Test
    void dataOfAnotherGridAreRefused() {
        SyntheticEra5.write(new SyntheticConfig(8, 16, 1, 1, 1, 4, 1), directory.resolve("small"),
            SyntheticEra5.Existing.KEEP, line -> { });
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        assertEquals(2, evaluate(directory.resolve("small/valid"), 1, "u10", screen));
        assertTrue(screen.toString(StandardCharsets.UTF_8).contains("the model reads 3 x 16 x 32"), screen::toString);
    }

    /** Mistakes that the process finds after its start are in its log, with the same code. */
    @ParameterizedTest
    @CsvSource({"12, u10, no year of", "3, wind, the model forecasts u10"})
    void aPlanThatDoesNotFitIsRefused(int steps, String plotted, String reason) {
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        assertEquals(2, evaluate(data.resolve("valid"), steps, plotted, screen));
        assertTrue(screen.toString(StandardCharsets.UTF_8).contains(reason), screen::toString);
    }

    /** Evaluates without the command line; returns the exit code. */
    private static int evaluate(Path years, int steps, String plotted, ByteArrayOutputStream screen) {
        return ModelEvaluation.run(model(run), plan(years, steps, List.of(plotted)), context(screen));
    }

    private static ForecastModel model(Path model) {
        return ForecastModel.open(model, Map.of(), Map.of("ISOBAR_THREADS", "1"));
    }

    /** A plan that saves the scores of each initial time. */
    private static EvaluationPlan plan(Path years, int steps, List<String> plotted) {
        return new EvaluationPlan(years, data.resolve("train"), data.resolve("stats/time_means.npy"), steps, 1, 0,
            plotted, steps, directory.resolve("ended"));
    }

    private static RunContext context(ByteArrayOutputStream screen) {
        return new RunContext(JobSecret.none(), Map.of(), Screen.plain(screen), StopRequest.NONE);
    }
}
