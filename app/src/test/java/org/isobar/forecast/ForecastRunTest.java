package org.isobar.forecast;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.isobar.data.Era5Frames;
import org.isobar.distributed.job.JobSecret;
import org.isobar.telemetry.Screen;
import org.isobar.train.InputDamage;
import org.isobar.train.RunContext;
import org.isobar.train.TinyRun;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Zarr store of {@code isobar forecast}, as other programs read it. */
class ForecastRunTest {
    private static final List<StartTime> STARTS = StartTime.parse("1981-01-02T00,1981:0", 6);
    private static final int STEPS = 2;
    private static final String DEBIAN = "/usr/bin/python3"; // with python3-xarray and python3-zarr
    private static final String PYTHON = """
        import sys, numpy, xarray
        store = xarray.open_zarr(sys.argv[1])
        t2m = store.t2m
        print(list(store.data_vars), dict(t2m.sizes))
        print(t2m.attrs, t2m.dtype)
        print(store.time.values.astype(str), store.prediction_timedelta.values.astype('timedelta64[h]'))
        print(store.latitude.values[[0, 1, -1]], store.longitude.values[[0, 1, -1]])
        print(bool(numpy.isfinite(t2m).all()), float(t2m.values[1, 0, 3, 5]))
        """;

    @TempDir
    private static Path directory;
    private static Path data;
    private static Path run;
    private static Path store;
    @TempDir
    private Path here;
    private String screen = "";

    @BeforeAll
    static void forecast() {
        TinyRun.synthesize(directory);
        data = directory.resolve("tiny");
        run = TinyRun.of(directory, directory.resolve("logs"), "num_iters=12").succeeded().directory();
        store = directory.resolve("f.zarr");
        ForecastRunTest test = new ForecastRunTest();
        assertEquals(0, test.forecast(data, store), () -> test.screen);
    }

    private int forecast(Path years, Path out) {
        TinyForecast ended = TinyForecast.of(run, Map.of(), new ForecastRun.Request(years, STARTS, STEPS, out));
        screen = ended.screen();
        return ended.code();
    }

    private static float value(String chunk, int row, int column) throws IOException {
        return ByteBuffer.wrap(Files.readAllBytes(store.resolve(chunk))).order(ByteOrder.nativeOrder())
            .asFloatBuffer().get(row * 32 + column);
    }

    @Test
    void theStoreHasTheForecastsByTimeAndLead() throws IOException {
        ForecastModel model = ForecastModel.open(run, Map.of(), Map.of());
        float[][] expected = new float[STEPS + 1][];
        ForecastSession.run(model, new RunContext(JobSecret.none(), Map.of(), Screen.plain(System.err),
            StopRequest.NONE), _ -> { }, session -> {
                try (Era5Frames frames = Era5Frames.of(data, model.input(), 6)) {
                    session.rollOut().run(STARTS.subList(0, 1), STEPS, InitialFields.of(frames, model),
                        (start, step, fields) -> expected[step] =
                            fields.toArray(ValueLayout.JAVA_FLOAT));
                }
                return null;
            });
        for (int step = 1; step <= STEPS; step++) {
            for (int channel = 0; channel < 3; channel++) {
                float[] chunk = new float[16 * 32];
                ByteBuffer.wrap(Files.readAllBytes(store.resolve(List.of("u10", "v10", "t2m").get(channel) + "/1."
                    + (step - 1) + ".0.0"))).order(ByteOrder.nativeOrder()).asFloatBuffer().get(chunk);
                assertArrayEquals(Arrays.copyOfRange(expected[step], channel * 512, (channel + 1) * 512),
                    chunk);
            }
        }
    }

    @Test
    void theMetadataAreConsolidated() throws IOException {
        ObjectMapper json = new ObjectMapper();
        JsonNode all = json.readTree(store.resolve(".zmetadata").toFile()).path("metadata");
        Map<String, String> files = TinyForecast.files(store);
        for (String name : files.keySet()) {
            if (name.endsWith(".zarray") || name.endsWith(".zattrs") || name.endsWith(".zgroup")) {
                assertEquals(json.readTree(files.get(name)), all.path(name), name);
            }
        }
        assertEquals(2 + 2 * 7, all.size());
        assertEquals(2 + 2 * 7 + 1 + 4 + 3 * 2 * STEPS, files.size(), files.keySet()::toString);
        assertEquals("air_temperature", all.path("t2m/.zattrs").path("standard_name").textValue());
        assertEquals("K", all.path("t2m/.zattrs").path("units").textValue());
        assertFalse(Files.exists(store.resolveSibling("f.zarr.partial")));
    }

    @Test
    void xarrayOpensItWithoutAnOption() throws Exception {
        assumeTrue(Files.exists(Path.of(DEBIAN)), "no Python");
        Process probe = new ProcessBuilder(DEBIAN, "-c", "import xarray, zarr").redirectErrorStream(true).start();
        probe.getInputStream().readAllBytes();
        assumeTrue(probe.waitFor() == 0, "no xarray or zarr for Python");
        Process python = new ProcessBuilder(DEBIAN, "-W", "ignore", "-c", PYTHON, store.toString())
            .redirectErrorStream(true).start();
        String printed = new String(python.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, python.waitFor(), printed);
        assertEquals("""
            ['t2m', 'u10', 'v10'] {'time': 2, 'prediction_timedelta': 2, 'latitude': 16, 'longitude': 32}
            {'standard_name': 'air_temperature', 'long_name': 'Air temperature 2 m above ground', 'units': 'K'} \
            float32
            ['1981-01-01T00:00:00.000000000' '1981-01-02T00:00:00.000000000'] [ 6 12]
            [ 90.  78. -90.] [  0.    11.25 348.75]
            True %s
            """.formatted(Double.toString(value("t2m/1.0.0.0", 3, 5))), printed);
    }

    /** A directory whose year has no value in the field of the second start. */
    private Path damaged() throws IOException {
        Path years = Files.createDirectories(here.resolve("years"));
        Path year = Files.copy(data.resolve("valid/1981.h5"), years.resolve("1981.h5"));
        InputDamage.setValue(year, 4, 2, 5, 7, Float.NaN);
        return years;
    }

    @Test
    void anInterruptedForecastIsContinued() throws IOException {
        Path years = damaged();
        Path year = years.resolve("1981.h5");
        FileTime modified = Files.getLastModifiedTime(year);
        Path out = here.resolve("out.zarr");
        assertEquals(2, forecast(years, out), screen);
        assertTrue(screen.contains("the initial field of 1981-01-02T00 is not finite"), screen);
        assertFalse(Files.exists(out));
        Path partial = here.resolve("out.zarr.partial");
        Files.writeString(partial.resolve("t2m/1.0.0.0.0123456789abcdef.tmp"), "half a chunk");
        long written = Files.getLastModifiedTime(partial.resolve("u10/0.0.0.0")).toMillis();
        Files.copy(data.resolve("valid/1981.h5"), year, StandardCopyOption.REPLACE_EXISTING);
        Files.setLastModifiedTime(year, modified);
        assertEquals(0, forecast(years, out), screen);
        assertTrue(screen.contains("Continuing: the forecasts from 1 of 2 starts are there already"), screen);
        assertEquals(written, Files.getLastModifiedTime(out.resolve("u10/0.0.0.0")).toMillis());
        assertEquals(TinyForecast.files(store), TinyForecast.files(out));
        assertFalse(Files.exists(partial));
    }

    /** The fields of the starts that were done may be among those that were changed. */
    @Test
    void aForecastOfFilesThatWereModifiedBeginsAgain() throws IOException {
        Path years = damaged();
        Path year = years.resolve("1981.h5");
        Path out = here.resolve("out.zarr");
        assertEquals(2, forecast(years, out), screen);
        Files.setLastModifiedTime(year, FileTime.fromMillis(Files.getLastModifiedTime(year).toMillis() + 2000));
        assertEquals(2, forecast(years, out), screen);
        assertFalse(screen.contains("Continuing"), screen);
        assertTrue(Files.exists(here.resolve("out.zarr.partial")));
    }

    /** Otherwise the finished store could not be renamed. */
    @Test
    void aLinkInTheWayIsSeenBeforeAnythingIsComputed() throws IOException {
        Path out = here.resolve("link.zarr");
        Files.createSymbolicLink(out, here.resolve("nowhere"));
        assertEquals(2, forecast(data, out), screen);
        assertTrue(screen.contains("link.zarr exists already"), screen);
        assertFalse(Files.exists(here.resolve("link.zarr.partial")));
    }

    @Test
    void whatIsInTheWayIsKept() throws IOException {
        Path out = Files.createDirectory(here.resolve("out.zarr"));
        assertEquals(2, forecast(data, out), screen);
        assertTrue(screen.contains("out.zarr exists already"), screen);
        Path mine = Files.createDirectory(here.resolve("other.zarr.partial"));
        Files.writeString(mine.resolve("mine"), "mine");
        assertEquals(2, forecast(data, here.resolve("other.zarr")), screen);
        assertTrue(screen.contains("is not an unfinished forecast"), screen);
        assertEquals(Map.of("mine", "mine"), TinyForecast.files(mine));
    }
}
