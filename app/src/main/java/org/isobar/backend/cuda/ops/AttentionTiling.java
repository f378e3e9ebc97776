package org.isobar.backend.cuda.ops;

import java.util.List;
import java.util.Map;

import org.isobar.device.ops.Dropout;

/**
 * Tile sizes of an attention kernel, passed to it as definitions of {@code attention_tiles.cuh}.
 *
 * <p>A warp owns 16 {@code rowTiles} tokens. With more row tiles a warp reads the streamed tiles less often, but needs
 * more registers: for each row tile and channel, a lane has half a register for every sum and a quarter (in single
 * precision half) for every operand that it keeps. No kernel may spill registers. The common sizes take no more than
 * the 99 KB of shared memory that a block may have on every device from compute capability 8.0 on. Large heads
 * therefore use smaller tiles, read operands again instead of keeping them, or use one row tile and twice the warps.
 * Two blocks of four warps, or one block of eight, fill the registers of a multiprocessor; three blocks of four warps
 * if a thread needs no more than 168.
 *
 * <p>Devices of compute capability 8.0 (163 KB a block) and 9.0 (227 KB) use other sizes where those are faster
 * according to the model of the speed (docs/kernels.md). {@code KernelSpeedTest} checks that no sizes among its
 * candidates are faster by more than 3 %. All other devices use the common sizes, but for a kernel of 10.0 that would
 * spill; code for 10.0 takes the most registers.
 *
 * @param rowTiles row tiles of 16 tokens that each warp owns
 * @param warps    warps per block
 * @param columns  tokens of a streamed tile
 * @param kept     how many of the block's own operands stay in registers
 * @param blocks   minimum number of resident blocks per multiprocessor
 */
record AttentionTiling(int rowTiles, int warps, int columns, int kept, int blocks) {
    /** A kernel that iterates over tiles. */
    enum Pass { FORWARD, BACKWARD_QUERIES, BACKWARD_KEYS, BACKWARD_KEYS_ATOMIC, BACKWARD_KEYS_ORDERED }

    /** Whether attention weights are dropped. */
    enum Masking {
        NONE, DROPOUT;

        static Masking of(Dropout dropout) {
            return dropout.isNone() ? NONE : DROPOUT;
        }
    }

    /** A kernel on devices of one compute capability (90 for 9.0), for heads of so many channels. */
    private record Kernel(int capability, Pass pass, int elementBytes, int headDim, Masking masking) { }

    private static final Map<Kernel, AttentionTiling> OF_DEVICES = Map.ofEntries(
        entry(100, Pass.FORWARD, 2, 128, Masking.DROPOUT, new AttentionTiling(2, 4, 16, 0, 2)),
        entry(90, Pass.FORWARD, 2, 48, Masking.DROPOUT, new AttentionTiling(2, 4, 48, 1, 3)),
        entry(90, Pass.FORWARD, 2, 80, Masking.NONE, new AttentionTiling(2, 4, 64, 1, 2)),
        entry(90, Pass.FORWARD, 2, 128, Masking.NONE, new AttentionTiling(2, 4, 64, 0, 2)),
        entry(90, Pass.FORWARD, 2, 128, Masking.DROPOUT, new AttentionTiling(2, 4, 48, 0, 2)),
        entry(90, Pass.FORWARD, 4, 128, Masking.NONE, new AttentionTiling(2, 8, 32, 0, 1)),
        entry(90, Pass.BACKWARD_QUERIES, 2, 48, Masking.NONE, new AttentionTiling(2, 4, 128, 2, 2)),
        entry(90, Pass.BACKWARD_QUERIES, 2, 48, Masking.DROPOUT, new AttentionTiling(2, 4, 128, 2, 2)),
        entry(90, Pass.BACKWARD_QUERIES, 2, 64, Masking.NONE, new AttentionTiling(2, 4, 128, 2, 2)),
        entry(90, Pass.BACKWARD_QUERIES, 2, 80, Masking.NONE, new AttentionTiling(2, 4, 64, 2, 2)),
        entry(90, Pass.BACKWARD_QUERIES, 2, 96, Masking.NONE, new AttentionTiling(2, 4, 64, 1, 2)),
        entry(90, Pass.BACKWARD_QUERIES, 2, 128, Masking.NONE, new AttentionTiling(1, 8, 128, 2, 1)),
        entry(90, Pass.BACKWARD_QUERIES, 2, 128, Masking.DROPOUT, new AttentionTiling(1, 8, 128, 2, 1)),
        entry(90, Pass.BACKWARD_QUERIES, 4, 128, Masking.NONE, new AttentionTiling(1, 8, 32, 1, 1)),
        entry(90, Pass.BACKWARD_KEYS, 2, 32, Masking.NONE, new AttentionTiling(2, 4, 128, 2, 2)),
        entry(90, Pass.BACKWARD_KEYS, 2, 48, Masking.NONE, new AttentionTiling(2, 8, 128, 2, 1)),
        entry(90, Pass.BACKWARD_KEYS, 2, 48, Masking.DROPOUT, new AttentionTiling(2, 8, 128, 2, 1)),
        entry(90, Pass.BACKWARD_KEYS, 2, 64, Masking.NONE, new AttentionTiling(2, 4, 128, 2, 2)),
        entry(90, Pass.BACKWARD_KEYS, 2, 80, Masking.NONE, new AttentionTiling(1, 8, 128, 2, 1)),
        entry(90, Pass.BACKWARD_KEYS, 2, 96, Masking.NONE, new AttentionTiling(1, 8, 128, 2, 1)),
        entry(90, Pass.BACKWARD_KEYS, 2, 128, Masking.NONE, new AttentionTiling(1, 8, 128, 2, 1)),
        entry(90, Pass.BACKWARD_KEYS, 2, 128, Masking.DROPOUT, new AttentionTiling(1, 8, 64, 2, 1)),
        entry(90, Pass.BACKWARD_KEYS, 4, 48, Masking.NONE, new AttentionTiling(2, 4, 32, 1, 2)),
        entry(90, Pass.BACKWARD_KEYS, 4, 128, Masking.NONE, new AttentionTiling(1, 8, 16, 1, 1)),
        entry(90, Pass.BACKWARD_KEYS_ATOMIC, 2, 48, Masking.NONE, new AttentionTiling(2, 8, 128, 2, 1)),
        entry(90, Pass.BACKWARD_KEYS_ATOMIC, 2, 96, Masking.NONE, new AttentionTiling(1, 8, 64, 2, 1)),
        entry(90, Pass.BACKWARD_KEYS_ATOMIC, 2, 128, Masking.NONE, new AttentionTiling(1, 8, 64, 2, 1)),
        entry(90, Pass.BACKWARD_KEYS_ORDERED, 2, 48, Masking.NONE, new AttentionTiling(2, 4, 128, 2, 2)),
        entry(90, Pass.BACKWARD_KEYS_ORDERED, 2, 48, Masking.DROPOUT, new AttentionTiling(2, 8, 128, 2, 1)),
        entry(90, Pass.BACKWARD_KEYS_ORDERED, 2, 80, Masking.NONE, new AttentionTiling(1, 8, 128, 2, 1)),
        entry(90, Pass.BACKWARD_KEYS_ORDERED, 2, 96, Masking.NONE, new AttentionTiling(1, 8, 64, 2, 1)),
        entry(90, Pass.BACKWARD_KEYS_ORDERED, 2, 128, Masking.NONE, new AttentionTiling(1, 8, 64, 0, 1)),
        entry(80, Pass.FORWARD, 2, 48, Masking.DROPOUT, new AttentionTiling(2, 4, 32, 1, 3)),
        entry(80, Pass.FORWARD, 2, 64, Masking.NONE, new AttentionTiling(2, 4, 96, 1, 2)),
        entry(80, Pass.FORWARD, 2, 128, Masking.NONE, new AttentionTiling(2, 8, 64, 0, 1)),
        entry(80, Pass.FORWARD, 2, 128, Masking.DROPOUT, new AttentionTiling(2, 4, 48, 0, 2)),
        entry(80, Pass.FORWARD, 4, 128, Masking.NONE, new AttentionTiling(2, 8, 16, 0, 1)),
        entry(80, Pass.BACKWARD_QUERIES, 2, 128, Masking.NONE, new AttentionTiling(1, 8, 64, 2, 1)),
        entry(80, Pass.BACKWARD_QUERIES, 2, 128, Masking.DROPOUT, new AttentionTiling(1, 8, 64, 2, 1)),
        entry(80, Pass.BACKWARD_QUERIES, 4, 128, Masking.NONE, new AttentionTiling(1, 8, 16, 1, 1)),
        entry(80, Pass.BACKWARD_KEYS, 2, 32, Masking.NONE, new AttentionTiling(2, 4, 128, 2, 2)),
        entry(80, Pass.BACKWARD_KEYS, 2, 48, Masking.NONE, new AttentionTiling(2, 8, 128, 2, 1)),
        entry(80, Pass.BACKWARD_KEYS, 2, 48, Masking.DROPOUT, new AttentionTiling(2, 8, 128, 2, 1)),
        entry(80, Pass.BACKWARD_KEYS, 2, 80, Masking.NONE, new AttentionTiling(1, 8, 128, 2, 1)),
        entry(80, Pass.BACKWARD_KEYS, 2, 96, Masking.NONE, new AttentionTiling(1, 8, 128, 2, 1)),
        entry(80, Pass.BACKWARD_KEYS, 2, 128, Masking.NONE, new AttentionTiling(1, 8, 64, 2, 1)),
        entry(80, Pass.BACKWARD_KEYS, 4, 128, Masking.NONE, new AttentionTiling(1, 8, 16, 1, 1)),
        entry(80, Pass.BACKWARD_KEYS_ORDERED, 2, 48, Masking.NONE, new AttentionTiling(2, 8, 128, 2, 1)),
        entry(80, Pass.BACKWARD_KEYS_ORDERED, 2, 48, Masking.DROPOUT, new AttentionTiling(2, 8, 128, 2, 1)),
        entry(80, Pass.BACKWARD_KEYS_ORDERED, 2, 80, Masking.NONE, new AttentionTiling(1, 8, 128, 2, 1)),
        entry(80, Pass.BACKWARD_KEYS_ORDERED, 2, 96, Masking.NONE, new AttentionTiling(1, 8, 64, 2, 1)),
        entry(80, Pass.BACKWARD_KEYS_ORDERED, 2, 128, Masking.NONE, new AttentionTiling(1, 8, 64, 0, 1)),
        entry(80, Pass.BACKWARD_KEYS_ATOMIC, 2, 48, Masking.NONE, new AttentionTiling(2, 8, 128, 2, 1)),
        entry(80, Pass.BACKWARD_KEYS_ATOMIC, 2, 96, Masking.NONE, new AttentionTiling(1, 8, 64, 2, 1)),
        entry(80, Pass.BACKWARD_KEYS_ATOMIC, 2, 128, Masking.NONE, new AttentionTiling(1, 8, 64, 2, 1)));
    /** Threads per warp. */
    private static final int WARP = 32;

    private static Map.Entry<Kernel, AttentionTiling> entry(int capability, Pass pass, int elementBytes, int headDim,
        Masking masking, AttentionTiling tiling) {
        return Map.entry(new Kernel(capability, pass, elementBytes, headDim, masking), tiling);
    }

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

    /** Tiling on tensor cores for the given element size in bytes and channels per head. */
    static AttentionTiling of(int capability, Pass pass, int elementBytes, int headDim, Masking masking) {
        AttentionTiling common = common(pass, elementBytes, headDim);
        return OF_DEVICES.getOrDefault(new Kernel(capability, pass, elementBytes, headDim, masking), common);
    }

    /**
     * Whether one kernel computes all gradients, the sums over key blocks in order: where tiles have been chosen for
     * it, because the model finds it faster than two kernels.
     */
    static boolean isOrdered(int capability, int elementBytes, int headDim, Masking masking) {
        return OF_DEVICES.containsKey(new Kernel(capability, Pass.BACKWARD_KEYS_ORDERED, elementBytes, headDim,
            masking));
    }

    /** Tiling for devices of any compute capability. */
    static AttentionTiling common(Pass pass, int elementBytes, int headDim) {
        return switch (pass) {
            case FORWARD -> forward(elementBytes, headDim);
            case BACKWARD_QUERIES -> backwardQueries(elementBytes, headDim);
            case BACKWARD_KEYS -> backwardKeys(elementBytes, headDim);
            case BACKWARD_KEYS_ATOMIC, BACKWARD_KEYS_ORDERED -> backwardKeysAtomic(elementBytes, headDim);
        };
    }

    /** Tiling of {@code attention_forward.cu}. */
    private static AttentionTiling forward(int elementBytes, int headDim) {
        return elementBytes == 2 ? switch (headDim) {
            case 32, 48, 64 -> new AttentionTiling(2, 4, 64, 1, 2);
            case 80 -> new AttentionTiling(2, 4, 48, 1, 2);
            case 96 -> new AttentionTiling(2, 4, 64, 0, 2);
            case 128 -> new AttentionTiling(2, 4, 32, 0, 2);
            default -> throw notTiled(headDim);
        } : switch (headDim) {
            case 32 -> new AttentionTiling(2, 4, 64, 1, 2);
            case 48 -> new AttentionTiling(2, 8, 64, 1, 1);
            case 64 -> new AttentionTiling(2, 4, 64, 0, 2);
            case 80, 96 -> new AttentionTiling(2, 4, 32, 0, 2);
            case 128 -> new AttentionTiling(1, 4, 32, 0, 2);
            default -> throw notTiled(headDim);
        };
    }

    /** Tiling of {@code attention_backward_queries.cu}. */
    private static AttentionTiling backwardQueries(int elementBytes, int headDim) {
        return elementBytes == 2 ? switch (headDim) {
            case 32, 48, 64 -> new AttentionTiling(2, 4, 64, 2, 2);
            case 80 -> new AttentionTiling(2, 4, 64, 1, 2);
            case 96 -> new AttentionTiling(2, 4, 32, 1, 2);
            case 128 -> new AttentionTiling(1, 8, 32, 2, 1);
            default -> throw notTiled(headDim);
        } : switch (headDim) {
            case 32 -> new AttentionTiling(2, 4, 64, 2, 2);
            case 48 -> new AttentionTiling(2, 4, 32, 2, 2);
            case 64 -> new AttentionTiling(2, 4, 32, 1, 2);
            case 80 -> new AttentionTiling(1, 4, 32, 2, 2);
            case 96 -> new AttentionTiling(1, 4, 32, 1, 2);
            case 128 -> new AttentionTiling(1, 4, 16, 0, 2);
            default -> throw notTiled(headDim);
        };
    }

    /** Tiling of {@code attention_backward_keys.cu}. */
    private static AttentionTiling backwardKeys(int elementBytes, int headDim) {
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
    private static AttentionTiling backwardKeysAtomic(int elementBytes, int headDim) {
        return elementBytes == 2 ? switch (headDim) {
            case 96 -> new AttentionTiling(1, 8, 32, 2, 1);
            case 128 -> new AttentionTiling(1, 8, 16, 1, 1);
            default -> backwardKeys(elementBytes, headDim);
        } : headDim == 80 ? new AttentionTiling(1, 4, 32, 0, 2) : backwardKeys(elementBytes, headDim);
    }

    /**
     * Tiling of kernels without tensor cores. Tiles are small because their unrolled products are long code. From
     * compute capability 10.0 on, a second warp in a block would make the largest kernel spill.
     */
    static AttentionTiling withoutTensorCores(int capability, Pass pass, int headDim) {
        int warps = headDim < 128 ? 4 : pass == Pass.BACKWARD_KEYS_ATOMIC && capability >= 100 ? 1 : 2;
        return new AttentionTiling(1, warps, 16, 0, 2);
    }

    private static IllegalArgumentException notTiled(int headDim) {
        return new IllegalArgumentException("no tiles for heads of " + headDim + " channels");
    }
}
