package org.isobar.bench.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;

import org.isobar.bench.Timing;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What pytorch.sh is asked for, and what is wrong with it. */
class ArgumentsTest {
    @Test
    void readsWhatIsAskedFor() {
        assertEquals(new Arguments(Path.of("a.json"), Path.of("b.json"), Timing.REHEARSED),
            Arguments.parse("step", "--json", "b.json", "--rehearse", "--like", "a.json"));
    }

    @ParameterizedTest
    @CsvSource({
        "'', the first argument",
        "ceilings, the first argument",
        "step --like a.json, --like and --json are needed",
        "step --like a.json --json, --json needs a file",
        "step --quick, --quick is unknown"})
    void saysWhatIsWrong(String line, String complaint) {
        UserException failure = assertThrows(UserException.class, () -> Arguments.parse(line.split(" ")));
        assertTrue(failure.getMessage().startsWith(complaint), failure.getMessage());
        assertTrue(failure.getMessage().contains("usage: "), failure.getMessage());
    }
}
