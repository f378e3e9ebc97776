package org.isobar.forecast;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.isobar.data.CropWindow;
import org.isobar.data.DataFixtures;
import org.isobar.data.Era5Frames;
import org.isobar.data.Normalization;
import org.isobar.distributed.job.JobSecret;
import org.isobar.evaluation.EvaluationPlan;
import org.isobar.evaluation.ModelEvaluation;
import org.isobar.export.ModelExport;
import org.isobar.fault.UserException;
import org.isobar.pretrained.ModelDirectory;
import org.isobar.telemetry.Screen;
import org.isobar.train.RunContext;
import org.isobar.train.TinyRun;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A model that reads variables by name, a constant field and the time: trained, exported, rolled out, evaluated. */
class InputOnlyChannelsTest {
    private static final StartTime START = StartTime.parse("1981-01-02T06", 6).getFirst();
    private static final int PIXELS = 16 * 32;

    @TempDir
    private static Path directory;
    private static Path data;
    private static TinyRun run;

    @BeforeAll
    static void train() {
        TinyRun.synthesize(directory);
        data = directory.resolve("tiny");
        run = TinyRun.of(directory, directory.resolve("logs"), "num_iters=12", "channels=[z500, u10]",
            "constants=[t2m]", "time_channels=true").succeeded();
    }

    private static RunContext context() {
        return new RunContext(JobSecret.none(), Map.of("ISOBAR_THREADS", "1"), Screen.plain(System.err),
            StopRequest.NONE);
    }

    /** The forecasts of one start, step by step. */
    private static List<float[]> rollOut(ForecastModel model, int steps, InitialFields initial) {
        List<float[]> fields = new ArrayList<>();
        ForecastSession.run(model, context(), _ -> { }, session -> {
            session.rollOut().run(List.of(START), steps, initial,
                (_, _, values) -> fields.add(values.toArray(ValueLayout.JAVA_FLOAT)));
            return null;
        });
        return fields;
    }

    @Test
    void eachStepReadsTheConstantsAndItsOwnTime() {
        ForecastModel model = ForecastModel.open(run.directory(), Map.of("local_batch_size", "2"), Map.of());
        Normalization normalization = model.normalization();
        try (Era5Frames frames = model.inputs(data)) {
            List<float[]> forecasts = rollOut(model, 3, InitialFields.of(frames, model));
            for (int step = 1; step < 3; step++) {
                float[] previous = forecasts.get(step - 1);
                int hours = 6 * step;
                List<float[]> next = rollOut(model, 1, (start, target, offset) -> {
                    MemorySegment.copy(normalized(previous, normalization), 0, target, ValueLayout.JAVA_FLOAT, offset,
                        previous.length);
                    model.extra().write(start.time().plusHours(hours), normalization.means(), normalization.spreads(),
                        2, target, offset);
                });
                for (int i = 0; i < previous.length; i++) {
                    assertEquals(next.getFirst()[i], forecasts.get(step)[i],
                        1e-5 * normalization.spreads()[i / PIXELS] + 2 * Math.ulp(next.getFirst()[i]));
                }
                assertTrue(differs(rollOut(model, 1, (start, target, offset) -> {
                    MemorySegment.copy(normalized(previous, normalization), 0, target, ValueLayout.JAVA_FLOAT, offset,
                        previous.length);
                    model.extra().write(start.time(), normalization.means(), normalization.spreads(), 2, target,
                        offset);
                }).getFirst(), forecasts.get(step), normalization), "the time has no influence");
            }
        }
    }

    private static float[] normalized(float[] physical, Normalization normalization) {
        float[] values = new float[physical.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = (physical[i] - normalization.means()[i / PIXELS]) / normalization.spreads()[i / PIXELS];
        }
        return values;
    }

    private static boolean differs(float[] one, float[] other, Normalization normalization) {
        boolean differs = false;
        for (int i = 0; i < one.length; i++) {
            differs |= Math.abs(one[i] - other[i]) > 1e-3 * normalization.spreads()[i / PIXELS];
        }
        return differs;
    }

    @Test
    void aForecasterWritesTheConstantsAndTheTime() {
        ForecastModel model = ForecastModel.open(run.directory(), Map.of("device", "cpu"), Map.of());
        float[] initial = new float[2 * PIXELS];
        List<float[]> expected;
        try (Era5Frames frames = model.inputs(data)) {
            expected = rollOut(model, 3, InitialFields.of(frames, model));
            frames.read(START.year(), START.frame(), Normalization.none(2), MemorySegment.ofArray(initial), 0);
        }
        List<float[]> found = new ArrayList<>();
        try (Forecaster forecaster = Forecaster.open(run.directory(), Map.of("device", "cpu"))) {
            assertEquals(forecaster.outputs(), forecaster.inputs());
            forecaster.forecast(initial, START.time(), 3, (_, fields) -> found.add(fields));
            assertEquals("the model reads the time; give that of the initial fields", assertThrows(UserException.class,
                () -> forecaster.forecast(initial, 3, (_, fields) -> found.add(fields))).getMessage());
        }
        assertArrayEquals(expected.toArray(), found.toArray());
    }

    /** A GPU rounds operands to TF32. As in golden cases, the error of a step is at most 4 times that rounding. */
    @Tag("cuda")
    @Test
    void aGpuForecastsTheSame() {
        ForecastModel model = ForecastModel.open(run.directory(), Map.of("device", "cpu"), Map.of());
        ForecastModel gpu = ForecastModel.open(run.directory(), Map.of("device", "cuda", "local_batch_size", "2"),
            Map.of());
        try (Era5Frames frames = model.inputs(data)) {
            List<float[]> expected = rollOut(model, 3, InitialFields.of(frames, model));
            List<float[]> found = rollOut(gpu, 3, InitialFields.of(frames, gpu));
            for (int step = 1; step <= 3; step++) {
                float[] fields = found.get(step - 1);
                for (int i = 0; i < fields.length; i++) {
                    assertEquals(expected.get(step - 1)[i], fields[i],
                        4 * 0x1p-11 * step * model.normalization().spreads()[i / PIXELS]);
                }
            }
        }
    }

    @Test
    void theModelsDirectoryHasAllThatItReads() throws IOException {
        ModelDirectory model = ModelDirectory.open(run.directory());
        assertEquals("[Channel[name=z500, unit=m2/s2], Channel[name=u10, unit=m/s], Channel[name=t2m, unit=], "
            + "Channel[name=sin_day, unit=], Channel[name=cos_day, unit=], Channel[name=sin_year, unit=], "
            + "Channel[name=cos_year, unit=]]", model.config().channels().toString());
        assertEquals(List.of("z500", "u10"), model.config().forecastNames());
        new ModelExport(run.directory().resolve("checkpoints"), directory.resolve("out"), ModelExport.Format.DIRECTORY)
            .write(Optional.empty(), Optional.empty(), Map.of(), _ -> { });
        ModelDirectory exported = ModelDirectory.open(directory.resolve("out"));
        assertEquals(model.config(), exported.config());
        assertArrayEquals(model.extra().constants(), exported.extra().constants());
        assertArrayEquals(model.normalization().spreads(), exported.normalization().spreads());
    }

    @Test
    void scoresHaveTheNames() throws IOException {
        List<String> scores = scores(data.resolve("valid"), "scores");
        assertTrue(scores.stream().anyMatch(line -> line.startsWith("model,z500,2,12.0,rmse,")), scores::toString);
        double persistence = score(scores, "persistence,u10,2,12.0,rmse,");
        assertTrue(persistence > 0.5 && persistence < 10, () -> "m/s: " + persistence);
        double climatology = score(scores, "climatology,u10,2,12.0,rmse,");
        assertTrue(climatology > 0.5 && climatology < 10, () -> "m/s: " + climatology);
    }

    /** Means over time have the channels of the first training file, in its order. */
    @Test
    void scoresDoNotDependOnTheOrderOfChannels() throws IOException {
        float[][] frames = new float[TinyRun.STEPS][2 * PIXELS];
        try (Era5Frames ordered = ForecastModel.open(run.directory(), Map.of(), Map.of()).outputs(data)) {
            for (int t = 0; t < frames.length; t++) {
                ordered.read(1981, t, Normalization.none(2), MemorySegment.ofArray(frames[t]), 0);
            }
        }
        DataFixtures.year(directory.resolve("reordered/1981.h5"), frames.length, new CropWindow(2, 16, 32),
            (t, c, j, i) -> frames[t][(1 - c) * PIXELS + 32 * j + i], Map.of("channel", new String[] {"u10", "z500"}));
        assertEquals(scores(data.resolve("valid"), "ordered"), scores(directory.resolve("reordered"), "reordered"));
    }

    private static List<String> scores(Path years, String out) throws IOException {
        EvaluationPlan plan = new EvaluationPlan(years, data.resolve("train"), data.resolve("stats/time_means.npy"), 2,
            4, 1, List.of("u10"), EvaluationPlan.PART_FIELDS, directory.resolve(out));
        ForecastModel model = ForecastModel.open(run.directory(), Map.of(), Map.of());
        assertEquals(0, ModelEvaluation.run(model, plan, context()));
        return Files.readAllLines(directory.resolve(out).resolve("scores.csv"));
    }

    private static double score(List<String> lines, String begin) {
        return lines.stream().filter(line -> line.startsWith(begin)).map(line -> line.substring(begin.length()))
            .mapToDouble(rest -> Double.parseDouble(rest.split(",")[0])).findFirst().orElseThrow();
    }
}
