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
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

import org.isobar.data.Era5Frames;
import org.isobar.data.Normalization;
import org.isobar.distributed.job.JobSecret;
import org.isobar.fault.UserException;
import org.isobar.pretrained.Channel;
import org.isobar.telemetry.Screen;
import org.isobar.train.RunContext;
import org.isobar.train.TinyRun;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Forecasts from another program. */
class ForecasterTest {
    private static final Map<String, String> CPU = Map.of("device", "cpu", "threads", "1");
    private static final int STEPS = 3;
    @TempDir
    private static Path directory;
    private static Path run;
    private static ForecastModel model;
    private static float[] initial; // (Cin, H, W)

    @BeforeAll
    static void train() {
        TinyRun.synthesize(directory);
        run = TinyRun.of(directory, directory.resolve("logs"), "num_iters=12", "device=cpu").succeeded().directory();
        model = ForecastModel.open(run, CPU, Map.of());
        initial = new float[(int) model.input().elements()];
        try (Era5Frames frames = Era5Frames.of(directory.resolve("tiny"), model.input(), 6)) {
            frames.read(1981, 4, Normalization.none(3), MemorySegment.ofArray(initial), 0);
        }
    }

    private static List<float[]> forecast(Map<String, String> settings, Path trained, float[] fields) {
        List<float[]> leads = new ArrayList<>();
        try (Forecaster forecaster = Forecaster.open(trained, settings)) {
            forecaster.forecast(fields, STEPS, (step, forecast) -> {
                assertEquals(leads.size() + 1, step);
                leads.add(forecast);
            });
        }
        return leads;
    }

    private static List<float[]> rollOut() {
        return rollOut(model);
    }

    private static List<float[]> rollOut(ForecastModel model) {
        List<float[]> leads = new ArrayList<>();
        ForecastSession.run(model, new RunContext(JobSecret.none(), Map.of(), Screen.plain(System.err),
            StopRequest.NONE), _ -> { }, session -> {
                try (Era5Frames frames = Era5Frames.of(directory.resolve("tiny"), model.input(), 6)) {
                    session.rollOut().run(StartTime.parse("1981:4", 6), STEPS,
                        InitialFields.of(frames, model),
                        (start, step, fields) -> leads.add(fields.toArray(ValueLayout.JAVA_FLOAT)));
                }
                return null;
            });
        return leads;
    }

    @Test
    void theBitsAreThoseOfTheCommand() {
        List<float[]> leads = forecast(CPU, run, initial);
        assertEquals(STEPS, leads.size());
        List<float[]> expected = rollOut();
        for (int i = 0; i < STEPS; i++) {
            assertArrayEquals(expected.get(i), leads.get(i));
        }
    }

    /** A GPU rounds operands to TF32. As in golden cases, the error of a step is at most 4 times that rounding. */
    @Tag("cuda")
    @Test
    void aGpuForecastsTheSame() {
        List<float[]> leads = forecast(Map.of("device", "cuda"), run, initial);
        assertArrayEquals(rollOut(ForecastModel.open(run, Map.of("device", "cuda"), Map.of())).toArray(),
            leads.toArray());
        List<float[]> expected = rollOut();
        for (int step = 1; step <= STEPS; step++) {
            float[] fields = leads.get(step - 1);
            for (int i = 0; i < fields.length; i++) {
                assertEquals(expected.get(step - 1)[i], fields[i],
                    4 * 0x1p-11 * step * model.normalization().spreads()[i / 512]);
            }
        }
    }

    @Test
    void theModelIsDescribed() {
        try (Forecaster forecaster = Forecaster.open(run, CPU)) {
            assertEquals(List.of(new Channel("u10", "m/s"), new Channel("v10", "m/s"), new Channel("t2m", "K")),
                forecaster.inputs());
            assertEquals(forecaster.inputs(), forecaster.outputs());
            assertEquals(Duration.ofHours(6), forecaster.leadStep());
            assertEquals(16, forecaster.grid().latitudes().size());
            assertEquals(32, forecaster.grid().longitudes().size());
        }
    }

    @Test
    void invalidInputLeavesTheForecasterUsable() {
        float[] damaged = initial.clone();
        damaged[2 * 512 + 5 * 32 + 7] = Float.NaN;
        List<float[]> leads = new ArrayList<>();
        try (Forecaster forecaster = Forecaster.open(run, CPU)) {
            UserException refusal = assertThrows(UserException.class,
                () -> forecaster.forecast(damaged, 1, (_, fields) -> leads.add(fields)));
            assertEquals("the initial field is not finite: NaN in t2m, row 5, column 7", refusal.getMessage());
            assertThrows(IllegalArgumentException.class,
                () -> forecaster.forecast(new float[1], 1, (_, fields) -> leads.add(fields)));
            assertThrows(IllegalArgumentException.class,
                () -> forecaster.forecast(initial, 0, (_, fields) -> leads.add(fields)));
            assertThrows(ArithmeticException.class, () -> forecaster.forecast(initial, 2, (_, _) -> {
                throw new ArithmeticException();
            }));
            assertTrue(leads.isEmpty());
            forecaster.forecast(initial, 1, (_, fields) -> leads.add(fields));
        }
        assertArrayEquals(rollOut().getFirst(), leads.getFirst());
    }

    @Test
    void itBelongsToOneThreadUntilItIsClosed() {
        Forecaster forecaster = Forecaster.open(run, CPU);
        CompletionException other = assertThrows(CompletionException.class,
            () -> CompletableFuture.runAsync(() -> forecaster.forecast(initial, 1, (_, _) -> { })).join());
        assertEquals(WrongThreadException.class, other.getCause().getClass());
        forecaster.close();
        forecaster.close();
        assertThrows(IllegalStateException.class, () -> forecaster.forecast(initial, 1, (_, _) -> { }));
    }

    @Test
    void whatIsNotAModelIsRefused() throws IOException {
        String missing = assertThrows(UserException.class,
            () -> Forecaster.open(directory.resolve("none"))).getMessage();
        assertTrue(missing.contains("there is no model directory"), missing);
        String setting = assertThrows(UserException.class,
            () -> Forecaster.open(run, Map.of("lr", "1"))).getMessage();
        assertEquals("the settings [lr] of a forecaster are unknown; there are [amp_mode, device, threads]", setting);
        Path damaged = Files.createDirectories(directory.resolve("damaged/stats")).getParent();
        for (String name : List.of("config.json", "stats/global_means.npy", "stats/global_stds.npy")) {
            Files.copy(run.resolve(name), damaged.resolve(name));
        }
        Files.writeString(damaged.resolve("model.safetensors"), "weights");
        assertThrows(UserException.class, () -> Forecaster.open(damaged, CPU));
    }
}
