package org.isobar.cli.data;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.isobar.cli.Main;
import org.isobar.cli.options.ProgramContext;
import org.isobar.data.CropWindow;
import org.isobar.data.DataFixtures;
import org.isobar.data.zarr.ZarrFixtures;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Output and exit codes of {@code data inspect}. */
class InspectCommandTest {
    private final StringWriter text = new StringWriter();
    @TempDir
    private Path directory;

    private int run(String... arguments) {
        PrintWriter print = new PrintWriter(text);
        ProgramContext context = new ProgramContext(Path.of(".."), Map.of());
        return Main.execute(Main.commandLine(context).setOut(print).setErr(print), arguments);
    }

    private void assertPrinted(String line) {
        assertTrue(text.toString().contains(line), text::toString);
    }

    @Test
    void printsRangesAndFittingPresets() {
        DataFixtures.year(directory.resolve("1979.h5"), 3, new CropWindow(20, 65, 128),
            (t, c, j, i) -> c == 2 ? t : 0.5f);
        DataFixtures.year(directory.resolve("1980.h5"), 2, new CropWindow(20, 65, 128),
            (t, c, j, i) -> c != 2 || j > 0 ? -1 : i == 7 ? Float.NaN : i == 9 ? Float.POSITIVE_INFINITY : 4);
        assertEquals(0, run("data", "inspect", directory.toString()), text::toString);
        assertPrinted("  fields    [3, 20, 65, 128]  float32  contiguous\n");
        assertPrinted("  1980.h5  2\n  all      5\n");
        assertPrinted("  t2m      K      -1.00000  4.00000   2    2\n");
        assertPrinted("  u10      m/s    -1.00000  0.500000  0    0\n");
        assertPrinted("demo            does not fit: dt = 1 needs 3 time steps, 1980.h5 has 2\n");
        assertPrinted("base            does not fit: its img_size is 360 x 720, larger than 65 x 128; dt = 1 needs");
    }

    @Test
    void saysWhatAPresetLeavesOut() {
        DataFixtures.year(directory.resolve("1979.h5"), 3, new CropWindow(20, 65, 128), (t, c, j, i) -> 1);
        assertEquals(0, run("data", "inspect", directory.toString()), text::toString);
        assertPrinted("demo            fits; it reads 20 x 64 x 128 of 20 x 65 x 128\n");
    }

    @Test
    void namesTheFileWhoseTimeStepsAPresetDoesNotHave() {
        DataFixtures.year(directory.resolve("1979.h5"), 3, new CropWindow(20, 64, 128), (t, c, j, i) -> 1,
            Map.of("time", DataFixtures.times(1979, 1, 3)));
        assertEquals(0, run("data", "inspect", directory.toString()), text::toString);
        assertPrinted("demo            does not fit: its hours_per_frame is 6, 1979.h5 has 1\n");
    }

    @Test
    void aDataSetIsInspectedAsAWhole() {
        CropWindow grid = new CropWindow(20, 4, 8);
        DataFixtures.year(directory.resolve("set/train/1979.h5"), 3, grid, (t, c, j, i) -> 1);
        DataFixtures.year(directory.resolve("set/valid/1980.h5"), 2, grid, (t, c, j, i) -> 2);
        assertEquals(0, run("data", "inspect", directory.resolve("set").toString()), text::toString);
        assertPrinted("  1979.h5  3\n  1980.h5  2\n  all      5\n");
        assertPrinted("  t2m      K      1.00000  2.00000  0    0\n");
        for (String command : List.of("stats", "climatology")) {
            assertEquals(2, run("data", command, directory.resolve("set").toString(), "--out="
                + directory.resolve("out")));
        }
        assertPrinted("set has no year files (*.h5) itself. Name those of [" + directory.resolve("set/train") + ", "
            + directory.resolve("set/valid") + "] that are meant.");
        assertEquals(2, run("data", "inspect", directory.toString()));
        assertPrinted(directory + " has no year files (*.h5). Name one that has");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        chunked_gzip  | 0 | 'float32  chunks of [1, 2, 3, 4], '
        chunked_gzip  | 0 | 'deflate'
        double_big    | 0 | 'float64 big-endian  contiguous'
        soft_link     | 2 | 'fields    '
        soft_link     | 2 | 'a link   not followed'
        integers      | 2 | 'int32'
        no_fields     | 2 | 'has no data set'
        """)
    void namesWhatIsStored(String name, int code, String part) {
        assertEquals(code, run("data", "inspect", DataFixtures.resource(name + ".h5").toString()), text::toString);
        assertPrinted(part);
    }

    @Test
    void refusesOtherFiles() {
        assertEquals(2, run("data", "inspect", DataFixtures.resource("f4.npy").toString()));
        assertPrinted("is not an HDF5 file or is damaged");
    }

    @Test
    void printsWhatAStoreHas() throws IOException {
        Path store = ZarrFixtures.unpack("arco", directory.resolve("arco.zarr"));
        Path weather = ZarrFixtures.unpack("weatherbench", directory.resolve("wb2.zarr"));
        Files.delete(weather.resolve("geopotential/1.0.0.0"));
        Path netcdf = Path.of("src/test/resources/org/isobar/data/convert/copernicus/levels0.nc");
        assertEquals(0, run("data", "inspect", store.toString(), weather.toString(), netcdf.toString()));
        assertPrinted("(time 12, level 2, latitude 8, longitude 16)  f32   chunks of [1, 2, 8, 16], blosc lz4");
        assertPrinted("i16   chunks of [4, 3, 5], zstd");
        assertPrinted("500, 850 hPa  8 x 16, 78.75 to -78.75 N, 0 to 337.5 E  "
            + "12 from 2020-01-01 00:00:00 to 2020-01-03 18:00:00, every 6 hours");
        assertPrinted("mean_sea_level_pressure  101099   101292   0               0");
        assertPrinted("it has 4: t2m, mslp, z850, z500.");
        assertPrinted("41690.0  148405   1280            0"); // five time steps of two levels were not copied
        assertPrinted("land_sea_mask   (0 - 1)");
        assertPrinted("it has 5: t850, z1000, z850, z500, t500.");
    }

    @Test
    void listsTheFieldsThatCannotBeConverted() throws IOException {
        Path store = ZarrFixtures.unpack("arco", directory.resolve("arco.zarr"));
        Path metadata = store.resolve(".zmetadata");
        Files.writeString(metadata, Files.readString(metadata)
            .replaceFirst("\"time\"(,\\s+\"latitude\")", "\"prediction_timedelta\"$1")); // of 2m_temperature
        assertEquals(0, run("data", "inspect", store.toString()), text::toString);
        assertPrinted("2m_temperature  '2m_temperature' has the dimension 'prediction_timedelta' of 12, expected");
        assertPrinted("mean_sea_level_pressure  101099   101292  0               0");
        assertPrinted("it has 3: mslp, z850, z500.");
    }

    @Test
    void aStoreThatCannotBeReadIsNamed() throws IOException {
        Path store = ZarrFixtures.unpack("arco", directory.resolve("arco.zarr"));
        Path chunk = store.resolve("2m_temperature/3.0.0");
        Files.write(chunk, new byte[20]);
        assertEquals(2, run("data", "inspect", store.toString()));
        assertPrinted("isobar: Zarr store " + store + ": a chunk of '2m_temperature', " + chunk
            + ", cannot be decoded: its Blosc data is damaged");
    }
}
