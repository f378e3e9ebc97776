package org.isobar.bench.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;

import org.isobar.bench.measure.Timing;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the arguments of pytorch.sh. */
class ArgumentsTest {
    @Test
    void parsesArguments() {
        assertEquals(new Arguments(Path.of("a.json"), Path.of("b.json"), Timing.REHEARSED),
            Arguments.parse("step", "--json", "b.json", "--rehearse", "--like", "a.json"));
    }

    @ParameterizedTest
    @CsvSource({
        "'', the first argument",
        "ceilings, the first argument",
        "step --like a.json, --like and --json are required",
        "step --like a.json --json, --json needs a file",
        "step --quick, unknown option --quick"})
    void invalidArgumentsAreRefused(String line, String message) {
        UserException failure = assertThrows(UserException.class, () -> Arguments.parse(line.split(" ")));
        assertTrue(failure.getMessage().startsWith(message), failure.getMessage());
        assertTrue(failure.getMessage().contains("usage: "), failure.getMessage());
    }
}
