package org.isobar.backend.cuda.ops;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.isobar.backend.cuda.ops.AttentionKernels.Variant;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Sizes of attention's tiles, without a GPU. */
class AttentionTilingTest {
    /** What a block may have on every device: that of compute capability 8.6, 8.9 and 12.0 has the least. */
    private static final int LEAST_SHARED = 99 << 10;

    static Iterable<Variant> variants() {
        return AttentionKernels.variants();
    }

    @ParameterizedTest
    @MethodSource("variants")
    void tilesFitIntoTheSharedMemoryOfEveryDevice(Variant variant) {
        assertTrue(variant.sharedBytes() <= LEAST_SHARED, () -> variant + " takes " + variant.sharedBytes());
    }
}
