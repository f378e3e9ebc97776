package org.isobar.backend.cpu.generated;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which processors compute with this package. */
final class GeneratedCodeTest {
    @ParameterizedTest
    @CsvSource({"amd64, avx2 fma sse2, 8, AVX2", "amd64, avx2 sse2, 8, none", "amd64, fma avx, 8, none",
        "aarch64, asimd, 4, none", "amd64, avx2 fma avx512f avx512dq, 16, AVX512", "amd64, avx2 fma avx512f, 16, none",
        "amd64, avx2 fma avx512f avx512dq, 8, AVX2", "amd64, avx2 fma, 4, none"})
    void loopsHaveVectorsAsLongAsThoseOfJava(String architecture, String features, int lanes, String set) {
        assertEquals(set, GeneratedCode.suitable(architecture, Set.of(features.split(" ")), lanes)
            .map(InstructionSet::name).orElse("none"));
    }

    /** Java does not use the longest vectors of all processors with AVX-512. */
    @ParameterizedTest
    @CsvSource({"AVX2, avx2 fma, true", "AVX2, avx2 fma avx512f, false", "AVX512, avx2 fma avx512f, true"})
    void productsHaveTheLongestVectors(InstructionSet set, String features, boolean multiplies) {
        assertEquals(multiplies, GeneratedCode.multiplies(set, Set.of(features.split(" "))));
    }

    @ParameterizedTest
    @CsvSource({"AVX512, avx512bw avx512vl avx512_bf16, true, true", "AVX512, avx512bw avx512_bf16, false, true",
        "AVX512, avx512bw avx512vl, false, true", "AVX2, avx512bw avx512vl avx512_bf16, false, true",
        "AVX512, avx512bw avx512vl avx512_bf16 amx_bf16, true, false"})
    void halvesNeedTheirInstructions(InstructionSet set, String features, boolean converts, boolean multiplies) {
        assertEquals(converts, GeneratedCode.convertsHalves(set, Set.of(features.split(" "))));
        assertEquals(multiplies, GeneratedCode.multipliesHalves(Set.of(features.split(" "))));
    }
}
