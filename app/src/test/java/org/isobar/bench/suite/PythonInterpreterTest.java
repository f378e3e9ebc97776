package org.isobar.bench.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.Optional;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests the choice of a Python interpreter. */
class PythonInterpreterTest {
    @BeforeEach
    void requirePython() {
        PythonInterpreter any = PythonInterpreter.with("sys", Optional.empty());
        assumeTrue(any.program().isPresent(), any.answer());
    }

    @Test
    void answersWithTheValueOfTheExpression() {
        assertEquals(new PythonInterpreter(Optional.of("python3"), "6"),
            PythonInterpreter.with("sys, math", "math.prod((2, 3))",
            Optional.of("python3")));
        assertEquals("True", PythonInterpreter.with("sys", Optional.of("")).answer());
    }

    @Test
    void requestedInterpreterIsNotReplaced() {
        PythonInterpreter absent = PythonInterpreter.with("sys", Optional.of("/no/such/python"));
        assertEquals(Optional.empty(), absent.program());
        assertTrue(absent.answer().startsWith("PYTHON=/no/such/python cannot import sys: "), absent.answer());
        assertEquals("PYTHON=python3 cannot import no_such_module: status 1: ModuleNotFoundError: "
            + "No module named 'no_such_module'", PythonInterpreter.with("no_such_module", Optional.of("python3"))
            .answer());
        assertEquals("no python3 on this machine can import no_such_module",
            PythonInterpreter.with("no_such_module", Optional.empty()).answer());
    }
}
