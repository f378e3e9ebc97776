package org.isobar.cli.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.isobar.cli.Main;
import org.isobar.cli.options.ProgramContext;
import org.isobar.train.CollectiveProof;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** {@code isobar verify --collectives}. */
class CollectiveCheckTest {
    private final StringWriter out = new StringWriter();

    private int verify(String... options) {
        List<String> arguments = new ArrayList<>(List.of("verify"));
        arguments.addAll(List.of(options));
        CommandLine main = Main.commandLine(new ProgramContext(Path.of(".."), Map.of()))
            .setOut(new PrintWriter(out, true)).setErr(new PrintWriter(out, true));
        return Main.execute(main, arguments.toArray(String[]::new));
    }

    @Test
    void aSoundJobExitsWithZeroWithoutData() {
        assertEquals(0, verify("--collectives", "--config=tiny", "--set", "depth=1", "--tensor_parallel=2",
            "--world_size=6"), out::toString);
        assertTrue(out.toString().matches("""
            The global batch of 2 is raised to 3, the next multiple of 3 data-parallel ranks
            Layout: tp 2 x cp 1 x dp 3 x pp 1, order tp-cp-dp-pp
            6 ranks of 6 roles, [0-9]+ collectives, checked in [0-9.]+ s
            All collectives match.
            """), out::toString);
    }

    @Test
    void aMismatchExitsWithOne() {
        assertEquals(1, CollectiveCheck.report(new CollectiveProof.Result(8, 8, 8, 100,
            Optional.of("rank 3, group tp [2, 3], operation 7")), 1, new PrintWriter(out)));
        assertEquals("8 ranks of 8 roles, 100 collectives, checked in 1.0 s\nFAILED rank 3, group tp [2, 3], operation "
            + "7\n", out.toString());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        --collectives --config=tiny                               | --collectives needs --world_size
        --collectives --config=tiny --world_size=0                | --collectives needs --world_size
        --collectives --config=tiny --world_size=2 --steps=2      | --steps has no meaning together with
        --collectives --config=tiny --world_size=3 --tensor_parallel=2 | world size 3 is not divisible
        --collectives --config=nothing --world_size=2             | nothing
        --config=tiny                                             | --config has a meaning for verify only
        --world_size=4                                            | --world_size has a meaning for verify only
        """)
    void whatTheUserCanMendExitsWithTwo(String options, String expected) {
        assertEquals(2, verify(options.strip().split(" ")), out::toString);
        assertTrue(out.toString().contains(expected), out::toString);
    }
}
