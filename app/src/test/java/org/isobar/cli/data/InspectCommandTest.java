package org.isobar.cli.data;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.Map;

import org.isobar.cli.Main;
import org.isobar.cli.options.ProgramContext;
import org.isobar.data.CropWindow;
import org.isobar.data.DataFixtures;
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
        assertPrinted("demo         does not fit: dt = 1 needs 3 time steps, 1980.h5 has 2\n");
        assertPrinted("base         does not fit: its img_size is 360 x 720, larger than 65 x 128; dt = 1 needs");
    }

    @Test
    void saysWhatAPresetLeavesOut() {
        DataFixtures.year(directory.resolve("1979.h5"), 3, new CropWindow(20, 65, 128), (t, c, j, i) -> 1);
        assertEquals(0, run("data", "inspect", directory.toString()), text::toString);
        assertPrinted("demo         fits; it reads 20 x 64 x 128 of 20 x 65 x 128\n");
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
}
