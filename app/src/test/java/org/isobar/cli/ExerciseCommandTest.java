package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;

import org.isobar.cli.options.ValueConverters;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** What {@code isobar exercise} prints and returns. */
class ExerciseCommandTest {
    @TempDir
    private Path directory;

    @Test
    void listsCopiesAndChecks() {
        assertTrue(run(0).lines().anyMatch(line -> line.startsWith("column-parallel  the communication of")));
        Path file = directory.resolve("GridOrder.java");
        assertEquals("Wrote " + file + ". Fill in what its TODOs ask for, and then: isobar exercise rank-order --check "
            + file, run(0, "rank-order", "--out=" + directory).strip());
        String wrong = run(1, "rank-order", "--check", file.toString());
        assertTrue(wrong.startsWith("rank-order: not yet right:" + System.lineSeparator() + "  order tp-cp-dp of"),
            wrong);
        assertEquals(wrong, run(1, "rank-order", "--out=" + directory, "--check"));
    }

    private static String run(int expected, String... args) {
        StringWriter out = new StringWriter();
        CommandLine command = new CommandLine(new ExerciseCommand()).setOut(new PrintWriter(out));
        ValueConverters.register(command);
        assertEquals(expected, command.execute(args), out::toString);
        return out.toString();
    }
}
