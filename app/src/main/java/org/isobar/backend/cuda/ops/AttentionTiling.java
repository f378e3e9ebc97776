package org.isobar.backend.cuda.ops;

import java.util.List;

/**
 * Tile sizes of an attention kernel, passed to it as definitions of {@code attention_tiles.cuh}.
 *
 * <p>A warp owns 16 {@code rowTiles} tokens. With more row tiles a warp reads the streamed tiles less often, but needs
 * more registers: for each row tile and channel, a lane has half a register for every sum and a quarter (in single
 * precision half) for every operand that it keeps. No kernel may spill registers. No kernel takes more than the 99 KB
 * of shared memory that a block may have on every device from compute capability 8.0 on. Large heads therefore use
 * smaller tiles, read operands again instead of keeping them, or use one row tile and twice the warps. Two blocks of
 * four warps, or one block of eight, fill the registers of a multiprocessor. All devices use the same sizes; code for
 * compute capability 10.0 takes the most registers.
 *
 * @param rowTiles row tiles of 16 tokens that each warp owns
 * @param warps    warps per block
 * @param columns  tokens of a streamed tile
 * @param kept     how many of the block's own operands stay in registers
 * @param blocks   minimum number of resident blocks per multiprocessor
 */
record AttentionTiling(int rowTiles, int warps, int columns, int kept, int blocks) {
    /** Threads per warp. */
    private static final int WARP = 32;

    /** Returns the number of tokens that a block owns. */
    int rows() {
        return 16 * rowTiles * warps;
    }

    int threads() {
        return warps * WARP;
    }

    /** Returns the sizes as preprocessor definitions. */
    List<String> defines() {
        return List.of("ROW_TILES=" + rowTiles, "WARPS=" + warps, "COLUMNS=" + columns, "KEPT=" + kept,
            "RESIDENT_BLOCKS=" + blocks);
    }

    /** Tiling of {@code attention_forward.cu} for the given element size in bytes and channels per head. */
    static AttentionTiling forward(int elementBytes, int headDim) {
        return elementBytes == 2 ? switch (headDim) {
            case 32, 48, 64, 80 -> new AttentionTiling(2, 4, 64, 1, 2);
            case 96 -> new AttentionTiling(2, 4, 64, 0, 2);
            case 128 -> new AttentionTiling(2, 4, 32, 0, 2);
            default -> throw notTiled(headDim);
        } : switch (headDim) {
            case 32 -> new AttentionTiling(2, 4, 64, 1, 2);
            case 48, 64 -> new AttentionTiling(2, 4, 64, 0, 2);
            case 80, 96 -> new AttentionTiling(2, 4, 32, 0, 2);
            case 128 -> new AttentionTiling(1, 4, 32, 1, 2);
            default -> throw notTiled(headDim);
        };
    }

    /** Tiling of {@code attention_backward_queries.cu}. */
    static AttentionTiling backwardQueries(int elementBytes, int headDim) {
        return elementBytes == 2 ? switch (headDim) {
            case 32, 48, 64 -> new AttentionTiling(2, 4, 64, 2, 2);
            case 80 -> new AttentionTiling(2, 4, 64, 1, 2);
            case 96 -> new AttentionTiling(2, 4, 32, 1, 2);
            case 128 -> new AttentionTiling(1, 8, 32, 2, 1);
            default -> throw notTiled(headDim);
        } : switch (headDim) {
            case 32 -> new AttentionTiling(2, 4, 64, 2, 2);
            case 48 -> new AttentionTiling(2, 4, 64, 1, 2);
            case 64 -> new AttentionTiling(2, 4, 32, 1, 2);
            case 80 -> new AttentionTiling(1, 4, 32, 2, 2);
            case 96 -> new AttentionTiling(1, 4, 32, 1, 2);
            case 128 -> new AttentionTiling(1, 4, 16, 0, 2);
            default -> throw notTiled(headDim);
        };
    }

    /** Tiling of {@code attention_backward_keys.cu}. */
    static AttentionTiling backwardKeys(int elementBytes, int headDim) {
        return elementBytes == 2 ? switch (headDim) {
            case 32, 48 -> new AttentionTiling(2, 4, 64, 2, 2);
            case 64 -> new AttentionTiling(2, 4, 64, 0, 2);
            case 80, 96 -> new AttentionTiling(1, 8, 64, 2, 1);
            case 128 -> new AttentionTiling(1, 8, 32, 2, 1);
            default -> throw notTiled(headDim);
        } : switch (headDim) {
            case 32 -> new AttentionTiling(2, 4, 64, 1, 2);
            case 48 -> new AttentionTiling(2, 4, 16, 0, 2);
            case 64 -> new AttentionTiling(1, 4, 32, 2, 2);
            case 80 -> new AttentionTiling(1, 4, 32, 1, 2);
            case 96 -> new AttentionTiling(1, 4, 16, 0, 2);
            case 128 -> new AttentionTiling(1, 2, 16, 0, 2);
            default -> throw notTiled(headDim);
        };
    }

    /** Tiling of {@code attention_backward_keys.cu} with a tile of ds in shared memory beside the others. */
    static AttentionTiling backwardKeysAtomic(int elementBytes, int headDim) {
        return elementBytes == 2 ? switch (headDim) {
            case 96 -> new AttentionTiling(1, 8, 32, 2, 1);
            case 128 -> new AttentionTiling(1, 8, 16, 1, 1);
            default -> backwardKeys(elementBytes, headDim);
        } : backwardKeys(elementBytes, headDim);
    }

    /** Tiling of all kernels without tensor cores. Tiles are small because their unrolled products are long code. */
    static AttentionTiling withoutTensorCores(int headDim) {
        return new AttentionTiling(1, headDim < 128 ? 4 : 2, 16, 0, 2);
    }

    private static IllegalArgumentException notTiled(int headDim) {
        return new IllegalArgumentException("no tiles for heads of " + headDim + " channels");
    }
}
