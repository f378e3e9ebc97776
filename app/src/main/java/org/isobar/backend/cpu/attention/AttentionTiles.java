package org.isobar.backend.cpu.attention;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.product.Matrix;
import org.isobar.tensor.DType;

/**
 * Scratch memory of one thread in attention's backward pass: tiles, (keys, queries), and sums, (keys, D). In single
 * precision, weights overwrite scores, and gradients of scores overwrite gradients of weights.
 *
 * @param space   layout of the parts
 * @param memory  all parts
 * @param blocks  the blocks of each head
 * @param dtype   of the weights and of the gradients of the scores
 * @param dropout of the weights
 */
record AttentionTiles(AttentionScratch space, MemorySegment memory, AttentionBlocks blocks, DType dtype,
    AttentionDropout dropout) {
    private static final int SCORES = 0;
    private static final int D_WEIGHTS = 1;
    private static final int WEIGHTS = 2;
    private static final int D_SCORES = 3;
    private static final int D_KEYS = 4;
    private static final int D_VALUES = 5;
    private static final int MASK = 6;
    private static final int SCRATCH = 7;
    private static final int REFERENCES = 8;
    private static final int DELTAS = 9;

    /** Sizes of the parts, in bytes. */
    static long[] sizes(AttentionBlocks blocks, DType dtype) {
        long tile = blocks.tile();
        long floats = tile * Float.BYTES;
        long operands = dtype == DType.F32 ? 0 : tile * dtype.bytes();
        long sums = blocks.keys().side() * blocks.shape().headDim() * Float.BYTES;
        long row = (long) blocks.queries().side() * Float.BYTES;
        return new long[] {floats, floats, operands, operands, sums, sums, floats, floats, row, row};
    }

    private int weightPart() {
        return dtype == DType.F32 ? SCORES : WEIGHTS;
    }

    private int dScorePart() {
        return dtype == DType.F32 ? D_WEIGHTS : D_SCORES;
    }

    Matrix scores() {
        return Matrix.of(part(SCORES), blocks.queries().side());
    }

    Matrix dWeights() {
        return Matrix.of(part(D_WEIGHTS), blocks.queries().side());
    }

    Matrix weights() {
        return Matrix.of(dtype, part(weightPart()), blocks.queries().side());
    }

    Matrix dScores() {
        return Matrix.of(dtype, part(dScorePart()), blocks.queries().side());
    }

    MemorySegment dKeys() {
        return part(D_KEYS);
    }

    MemorySegment dValues() {
        return part(D_VALUES);
    }

    private MemorySegment part(int part) {
        return space.part(memory, part);
    }

    /** Converts scores to masked weights, and gradients of the weights to gradients of the scores. */
    void softmax(MemorySegment references, MemorySegment deltas, int head, int queryBlock, int keyBlock) {
        part(REFERENCES).copyFrom(references);
        part(DELTAS).copyFrom(deltas);
        int side = blocks.queries().side();
        int keys = blocks.keys().length(keyBlock);
        boolean masked = !dropout.isNone();
        if (masked) {
            dropout.transposed(part(MASK), part(SCRATCH), head, queryBlock, keyBlock);
            AttentionElements.multiply(DType.F32, part(D_WEIGHTS), part(D_WEIGHTS), part(MASK), keys * side);
        }
        long[] at = space.own();
        SoftmaxGradient gradient = new SoftmaxGradient(memory, at[SCORES], at[D_WEIGHTS],
            masked ? DType.F32 : dtype, masked ? at[SCORES] : at[weightPart()], dtype, at[dScorePart()],
            at[REFERENCES], at[DELTAS], (float) (blocks.shape().scale() / Math.log(2)));
        gradient.tile(keys, side, blocks.queries().length(queryBlock));
        if (masked) {
            AttentionElements.multiply(dtype, part(weightPart()), part(SCORES), part(MASK), keys * side);
        }
    }
}
