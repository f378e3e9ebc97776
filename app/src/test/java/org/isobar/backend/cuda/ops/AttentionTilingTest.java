package org.isobar.backend.cuda.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;

import org.isobar.backend.cuda.ops.AttentionKernels.Variant;
import org.isobar.backend.cuda.ops.AttentionTiling.Pass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sizes of attention's tiles, without a GPU. */
class AttentionTilingTest {
    /**
     * Shared memory that a block may have on devices of a compute capability (CUDA C++ Programming Guide, "Technical
     * Specifications per Compute Capability").
     */
    static int sharedBytes(int capability) {
        return switch (capability) {
            case 80, 87 -> 163 << 10;
            case 90, 100 -> 227 << 10;
            case 86, 89, 120 -> 99 << 10;
            default -> throw new IllegalArgumentException("compute capability " + capability);
        };
    }

    @ParameterizedTest
    @ValueSource(ints = {80, 86, 87, 89, 90, 100, 120})
    void tilesFitIntoTheSharedMemoryOfTheDevice(int capability) {
        assertEquals(List.of(), AttentionKernels.variants(capability).stream()
            .filter(variant -> variant.sharedBytes() > sharedBytes(capability)).toList());
    }

    /** The kernels of the backward pass read whole tiles of the queries' statistics. */
    @ParameterizedTest
    @ValueSource(ints = {80, 86, 90})
    void paddedStatisticsHaveWholeTiles(int capability) {
        assertEquals(List.of(), AttentionKernels.variants(capability).stream()
            .filter(variant -> variant.pass() != Pass.FORWARD && TiledAttention.PADDING % queries(variant) != 0)
            .toList());
    }

    /** Queries of a tile, which the kernel owns or streams. */
    private static int queries(Variant variant) {
        return variant.pass() == Pass.BACKWARD_QUERIES ? variant.tiling().rows() : variant.tiling().columns();
    }
}
