package org.isobar.backend.cpu.generated;

import java.util.Set;

/** Vector instructions of x86-64 processors, for which code is generated. */
enum InstructionSet {
    /** Vectors of 256 bits; sixteen registers. */
    AVX2(8, 16, Set.of("avx2", "fma")),
    /** Vectors of 512 bits; 32 registers. */
    AVX512(16, 32, Set.of("avx2", "fma", "avx512f", "avx512dq"));

    /** Floats in a vector. */
    final int lanes;
    /** Bytes of a vector. */
    final int bytes;
    /** Number of vector registers. */
    final int registers;
    private final Set<String> features;

    InstructionSet(int lanes, int registers, Set<String> features) {
        this.lanes = lanes;
        this.registers = registers;
        bytes = lanes * Float.BYTES;
        this.features = features;
    }

    /** Returns whether a processor has these instructions. */
    boolean isSupported(String architecture, Set<String> processorFeatures) {
        return "amd64".equals(architecture) && processorFeatures.containsAll(features);
    }
}
