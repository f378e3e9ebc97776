package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.Map;

import org.isobar.cli.options.ProgramContext;
import org.isobar.cli.options.TildeExpansion;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** Paths in the home directory, as arguments that no shell expands. */
class TildeExpansionTest {
    @ParameterizedTest
    @CsvSource({"--expdir=~/logs/a, --expdir=/my/own/logs/a", "expdir=~/logs, expdir=/my/own/logs",
        "--set=expdir=~/logs, --set=expdir=/my/own/logs", "--expdir=~/a=b, --expdir=/my/own/a=b"})
    void homeReplacesTheTilde(String given, String expanded) {
        assertArrayEquals(new String[] {"train", expanded},
            TildeExpansion.apply(new String[] {"train", given}, "/my/own"));
    }

    @ParameterizedTest
    @CsvSource({"~/logs", "--init_weights=~", "--expdir=./~/logs", "--expdir=a~/logs", "--expdir=~other/logs"})
    void otherTildesStay(String given) {
        assertArrayEquals(new String[] {given}, TildeExpansion.apply(new String[] {given}, "/my/own"));
    }

    @Test
    void commandsReceiveTheExpandedPath() {
        StringWriter out = new StringWriter();
        CommandLine main = Main.commandLine(new ProgramContext(Path.of(".."), Map.of()))
            .setOut(new PrintWriter(out));
        assertEquals(0, Main.execute(main, "config", "--config=tiny", "--expdir=~/logs"));
        assertTrue(out.toString().contains(Path.of(System.getenv("HOME"), "logs").toString()), out::toString);
    }
}
