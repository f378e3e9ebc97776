package org.isobar.backend.cuda.ops;

import java.util.List;

/**
 * How a kernel of attention cuts its work: sizes of tiles as definitions of {@code attention_tiles.cuh}.
 *
 * <p>A warp owns 16 {@code rowTiles} tokens. With more of them it reads the tiles that pass by less often, but needs
 * more registers: for each row tile and channel, a lane has half a register for every sum and a quarter (in single
 * precision half) for every operand that is kept. No kernel may spill, and none takes more than the 99 KB of shared
 * memory that a block may have on every device from 8.0 on; so large heads have smaller tiles, read operands again
 * rather than keep them, or have one row tile and twice the warps. Two blocks of four warps, or one of eight, fill the
 * registers of a multiprocessor. The same sizes serve every device; code for 10.0 takes the most registers.
 *
 * @param rowTiles of 16 tokens that each warp owns
 * @param warps    of a block
 * @param columns  tokens of a tile that passes by
 * @param kept     how many of the block's own operands stay in registers
 * @param blocks   to a multiprocessor, at least
 */
record AttentionTiling(int rowTiles, int warps, int columns, int kept, int blocks) {
    /** Threads of a warp. */
    private static final int WARP = 32;

    /** Tokens that a block owns. */
    int rows() {
        return 16 * rowTiles * warps;
    }

    int threads() {
        return warps * WARP;
    }

    /** As preprocessor definitions. */
    List<String> defines() {
        return List.of("ROW_TILES=" + rowTiles, "WARPS=" + warps, "COLUMNS=" + columns, "KEPT=" + kept,
            "RESIDENT_BLOCKS=" + blocks);
    }

    /** Of {@code attention_forward.cu}, for elements of the given size and heads of the given number of channels. */
    static AttentionTiling forward(int elementBytes, int headDim) {
        return elementBytes == 2 ? switch (headDim) {
            case 32, 48, 64 -> new AttentionTiling(2, 4, 64, 1, 2);
            case 80 -> new AttentionTiling(2, 4, 32, 1, 2);
            case 96, 128 -> new AttentionTiling(2, 4, 32, 0, 2);
            default -> throw notTiled(headDim);
        } : switch (headDim) {
            case 32 -> new AttentionTiling(2, 4, 64, 1, 2);
            case 48, 64 -> new AttentionTiling(2, 4, 64, 0, 2);
            case 80, 96 -> new AttentionTiling(2, 4, 32, 0, 2);
            case 128 -> new AttentionTiling(1, 4, 32, 1, 2);
            default -> throw notTiled(headDim);
        };
    }

    /** Of {@code attention_backward_queries.cu}. */
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

    /** Of {@code attention_backward_keys.cu}. */
    static AttentionTiling backwardKeys(int elementBytes, int headDim) {
        return elementBytes == 2 ? switch (headDim) {
            case 32, 48 -> new AttentionTiling(2, 4, 64, 2, 2);
            case 64 -> new AttentionTiling(2, 4, 64, 0, 2);
            case 80 -> new AttentionTiling(1, 8, 64, 2, 1);
            case 96 -> new AttentionTiling(1, 8, 32, 2, 1);
            case 128 -> new AttentionTiling(1, 8, 16, 1, 1);
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

    /** Of all kernels without tensor cores: their products are long code, so as few as may be are unrolled. */
    static AttentionTiling withoutTensorCores(int headDim) {
        return new AttentionTiling(1, headDim < 128 ? 4 : 2, 16, 0, 2);
    }

    private static IllegalArgumentException notTiled(int headDim) {
        return new IllegalArgumentException("no tiles for heads of " + headDim + " channels");
    }
}
