package org.isobar.data.convert;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;

import io.jhdf.HdfFile;
import org.isobar.data.NpyFile;
import org.isobar.data.zarr.ZarrFixtures;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Zarr stores in the layouts of WeatherBench 2 and ARCO-ERA5 become what NumPy makes of them, to the bit. */
class ZarrConversionTest {
    @TempDir
    private Path directory;
    private Path to;

    @BeforeEach
    void target() {
        to = directory.resolve("converted");
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', textBlock = """
        weatherbench; t2m,z500,z850
        arco;         t2m,z500,z850,mslp
        """)
    void aStoreHasTheBitsOfNumPy(String name, String variables) throws IOException {
        Path store = ZarrFixtures.unpack(name, directory.resolve(name + ".zarr"));
        convert(store, variables);
        assertFields(name);
        try (HdfFile file = new HdfFile(to.resolve("2020.h5"))) {
            double[] latitudes = (double[]) file.getDatasetByPath("lat").getData();
            assertEquals(78.75, latitudes[0]);
            assertEquals(-78.75, latitudes[latitudes.length - 1]);
            assertEquals(22.5, ((double[]) file.getDatasetByPath("lon").getData())[1]);
            long[] times = (long[]) file.getDatasetByPath("time").getData();
            assertEquals(1577836800, times[0]);
            assertEquals(6 * 3600, times[1] - times[0]);
            assertArrayEquals(variables.split(","), (String[]) file.getDatasetByPath("channel").getData());
        }
        assertTrue(Files.exists(to.resolve("stats/global_means.npy")));
    }

    /** A directory that has a store is looked through, and a constant field repeated. */
    @Test
    void aDirectoryMayHaveAStore() throws IOException {
        ZarrFixtures.unpack("weatherbench", directory.resolve("in/era5.zarr"));
        convert(directory.resolve("in"), "lsm,t2m");
        float[] expected = expected("weatherbench");
        float[] fields = fields();
        int points = 8 * 16;
        for (int t = 0; t < 12; t++) {
            assertArrayEquals(Arrays.copyOfRange(expected, 3 * t * points, (3 * t + 1) * points),
                Arrays.copyOfRange(fields, (2 * t + 1) * points, (2 * t + 2) * points));
            assertArrayEquals(Arrays.copyOf(fields, points),
                Arrays.copyOfRange(fields, 2 * t * points, (2 * t + 1) * points));
        }
    }

    /** Copying a large store may have ended early. */
    @Test
    void aChunkThatWasNotCopiedIsRefused() throws IOException {
        Path store = ZarrFixtures.unpack("weatherbench", directory.resolve("weatherbench.zarr"));
        Files.delete(store.resolve("geopotential/1.0.0.0"));
        assertRefused(store, "t2m,z500", store.toString(), "'geopotential' has no value at 2020-01-02 06:00:00",
            "500 hPa");
    }

    @Test
    void aChunkThatIsCutIsRefused() throws IOException {
        Path store = ZarrFixtures.unpack("arco", directory.resolve("arco.zarr"));
        Path chunk = store.resolve("2m_temperature/7.0.0");
        Files.write(chunk, Arrays.copyOf(Files.readAllBytes(chunk), 200));
        assertRefused(store, "t2m", chunk.toString(), "'2m_temperature'", "encoded bytes");
    }

    @Test
    void aVariableThatWasNotCopiedIsRefused() throws IOException {
        Path store = ZarrFixtures.unpack("arco", directory.resolve("arco.zarr"), "2m_temperature", "time",
            "latitude", "longitude", "level");
        assertRefused(store, "t2m,z500", "has no variable for z500, but: 2m_temperature");
    }

    @ParameterizedTest
    @CsvSource({"gs://weatherbench2/datasets/era5, gsutil -m rsync -r", "s3://bucket/era5.zarr, aws s3 sync"})
    void aRemoteStoreIsRefused(String source, String advice) {
        ConversionRequest request = request(source, "t2m");
        String message = assertThrows(UserException.class, () -> Conversion.plan(request)).getMessage();
        assertTrue(message.contains(source) && message.contains(advice), message);
    }

    private void assertRefused(Path store, String variables, String... parts) {
        String message = assertThrows(UserException.class, () -> convert(store, variables)).getMessage();
        assertFalse(message.contains("\n"), message);
        assertEquals(List.of(), Arrays.stream(parts).filter(part -> !message.contains(part)).toList(), message);
        assertFalse(Files.exists(to.resolve("2020.h5")));
    }

    private void convert(Path store, String variables) {
        try (Conversion conversion = Conversion.plan(request(store.toString(), variables))) {
            conversion.run((done, total) -> { }, (path, frames, bytes, there) -> { });
        }
    }

    private ConversionRequest request(String store, String variables) {
        return new ConversionRequest(List.of(store), to, List.of(variables.split(",")), Optional.empty(),
            new TreeSet<>(), new TreeSet<>(), 0, "", 1, "", false, false);
    }

    private void assertFields(String name) throws IOException {
        assertArrayEquals(expected(name), fields());
    }

    private static float[] expected(String name) {
        double[] values = NpyFile.read(Path.of("src/test/resources/org/isobar/data/zarr", name + ".npy")).values();
        float[] floats = new float[values.length];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = (float) values[i];
        }
        return floats;
    }

    private float[] fields() {
        try (HdfFile file = new HdfFile(to.resolve("2020.h5"))) {
            return (float[]) file.getDatasetByPath("fields").getDataFlat();
        }
    }
}
