package org.isobar.cli.data;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.Map;

import org.isobar.cli.Main;
import org.isobar.cli.options.ProgramContext;
import org.isobar.data.ClimatologyFile;
import org.isobar.data.CropWindow;
import org.isobar.data.DataFixtures;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** Options, output and exit codes of {@code data climatology}. */
class ClimatologyCommandTest {
    private final StringWriter text = new StringWriter();
    @TempDir
    private Path directory;

    private int run(String... arguments) {
        PrintWriter print = new PrintWriter(text);
        CommandLine main = Main.commandLine(new ProgramContext(Path.of(".."), Map.of()));
        return Main.execute(main.setOut(print).setErr(print), arguments);
    }

    @Test
    void takesTheTrainingYearsOfThePreset() {
        DataFixtures.year(directory.resolve("tiny/train/1979.h5"), 5, new CropWindow(20, 4, 6), (t, c, j, i) -> c + t);
        DataFixtures.year(directory.resolve("tiny/train/1980.h5"), 4, new CropWindow(20, 4, 6), (t, c, j, i) -> c - t);
        String out = "--out=" + directory.resolve("made/clim.h5");
        assertEquals(0, run("data", "climatology", "--config=tiny", "--data_dir=" + directory, out), text::toString);
        assertTrue(text.toString().contains(": 4 hours x 366 days x 20 x 4 x 6, 0.003 GB, from 2 files "
            + "with 9 time steps, in "), text.toString());
        try (ClimatologyFile file = ClimatologyFile.open(directory.resolve("made/clim.h5"))) {
            assertEquals("z500", file.channels().get(14));
        }
        assertEquals(2, run("data", "climatology", "--data_dir=" + directory, out));
        assertTrue(text.toString().contains("Replace it with --force"), text.toString());
        assertEquals(0, run("data", "climatology", directory.resolve("tiny/train").toString(), "--hours_per_frame=24",
            out, "--force"), text::toString);
        assertTrue(text.toString().contains(": 1 hours x 366 days"), text.toString());
    }

    @Test
    void refusesWrongArguments() {
        assertEquals(2, run("data"));
        assertTrue(text.toString().contains("Name a command: inspect, stats, climatology"), text.toString());
        assertEquals(2, run("data", "climatology", "--out=" + directory.resolve("c"), "x", "--config=tiny"));
        assertTrue(text.toString().contains("give one of them"), text.toString());
        assertEquals(2, run("data", "climatology", "--out=" + directory.resolve("c"), "--data_dir=" + directory));
        assertTrue(text.toString().contains("There is no data directory"), text.toString());
        assertEquals(2, run("data", "climatology", "--out=" + directory.resolve("c"), "missing.h5"));
        assertTrue(text.toString().contains("missing.h5: No such file"), text.toString());
    }
}
