package org.isobar.backend.cpu.avx2;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which processors compute with this package. */
final class Avx2Test {
    @ParameterizedTest
    @CsvSource({"amd64, avx2 fma sse2, true", "amd64, avx2 sse2, false", "amd64, avx2 fma avx512f, false",
        "amd64, fma avx, false", "aarch64, asimd, false"})
    void suitsProcessorsWithAvx2ButWithoutAvx512(String architecture, String features, boolean suits) {
        assertEquals(suits, Avx2.suits(architecture, Set.of(features.split(" "))));
    }
}
