package org.isobar.cli.data;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

import org.isobar.cli.Main;
import org.isobar.cli.options.ProgramContext;
import org.isobar.data.CropWindow;
import org.isobar.data.DataFixtures;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Options, output and exit codes of {@code data stats}. */
class StatsCommandTest {
    private final StringWriter text = new StringWriter();
    @TempDir
    private Path directory;

    private int run(String... arguments) {
        PrintWriter print = new PrintWriter(text);
        ProgramContext context = new ProgramContext(Path.of(".."), Map.of());
        return Main.execute(Main.commandLine(context).setOut(print).setErr(print), arguments);
    }

    @Test
    void writesStatisticsOnce() {
        Path year = DataFixtures.year(directory.resolve("1979.h5"), 2, new CropWindow(20, 4, 6), (t, c, j, i) -> c + t);
        String out = "--out=" + directory.resolve("stats");
        assertEquals(0, run("data", "stats", year.toString(), out), text::toString);
        assertTrue(text.toString().contains("z500     m2/s2  14.5000   0.500000  14.0000  15.0000"), text.toString());
        assertTrue(text.toString().contains("Wrote the statistics of 1 files with 2 time steps of 20 x 4 x 6 to "),
            text.toString());
        assertTrue(Files.exists(directory.resolve("stats/time_means.npy")));
        assertEquals(2, run("data", "stats", year.toString(), out));
        assertTrue(text.toString().contains("Replace them with --force"), text.toString());
        assertEquals(0, run("data", "stats", year.toString(), out, "--force"), text::toString);
        assertEquals(2, run("data", "stats"));
        assertTrue(text.toString().contains("Missing required parameter: 'PATH'"), text.toString());
    }
}
