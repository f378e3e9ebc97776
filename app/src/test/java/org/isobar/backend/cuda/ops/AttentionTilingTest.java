package org.isobar.backend.cuda.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;

import org.isobar.backend.cuda.ops.AttentionKernels.Variant;
import org.isobar.backend.cuda.ops.AttentionTiling.Pass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Sizes of attention's tiles and blocks, without a GPU. */
class AttentionTilingTest {
    @ParameterizedTest
    @ValueSource(ints = {80, 86, 87, 89, 90, 100, 120})
    void tilesFitIntoTheSharedMemoryOfTheDevice(int capability) {
        assertEquals(List.of(), AttentionKernels.variants(capability).stream()
            .filter(variant -> variant.sharedBytes() > SourceKernels.sharedBytes(capability)).toList());
    }

    /** The last three are the widest heads of their devices. */
    @ParameterizedTest
    @CsvSource({"86, 1568, 4", "86, 1569, 2", "86, 2000, 2", "80, 2592, 4", "80, 2593, 2", "90, 3616, 4",
        "90, 3617, 2", "86, 3152, 2", "86, 3153, 1", "86, 6320, 1", "80, 10416, 1", "90, 14512, 1"})
    void blocksOfWideHeadsHaveFewerWarps(int capability, int headDim, int warps) {
        assertEquals(warps, PlainAttention.warps(headDim, SourceKernels.sharedBytes(capability)));
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
