package org.isobar.config;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The expected texts are what Python 3 prints. */
class PythonTextTest {
    @ParameterizedTest
    @CsvSource({"5E-4, 0.0005", "1e-4, 0.0001", "9.5e-5, 9.5e-05", "1e-5, 1e-05", "0, 0.0", "1, 1.0", "100, 100.0",
        "1.41e-3, 0.00141", "1e15, 1000000000000000.0", "1e16, 1e+16", "1.5e300, 1.5e+300",
        "-2.5, -2.5", "0.1, 0.1", "123456.789, 123456.789"})
    void floats(double value, String expected) {
        assertEquals(expected, PythonText.of(value));
    }

    @Test
    void otherValues() {
        assertEquals("True", PythonText.of(true));
        assertEquals("None", PythonText.of(Optional.empty()));
        assertEquals("512", PythonText.of(Optional.of(512L)));
        assertEquals("[360, 720]", PythonText.of(List.of(360, 720)));
        assertEquals("fp16", PythonText.of(AmpMode.FP16));
        assertEquals("/data/train", PythonText.of(Path.of("/data/train")));
    }
}
