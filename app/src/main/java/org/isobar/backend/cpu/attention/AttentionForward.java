package org.isobar.backend.cpu.attention;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

import org.isobar.backend.cpu.onednn.MatmulCache;
import org.isobar.backend.cpu.parallel.BlockedRange;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/**
 * Attention of one block of queries to all keys of its head, one block of keys at a time (Dao et al., "FlashAttention",
 * 2022). Accumulates the sum of 2^(score - m) v in single precision and divides it by the sum of 2^(score - m) at the
 * end.
 */
final class AttentionForward {
    private static final int KEYS = 0;
    private static final int VALUES = 1;
    private static final int SCORES = 0;
    private static final int WEIGHTS = 1;
    private static final int SUMS = 2;
    private static final int ROOM = 3;

    private final Tensors tensors;
    private final DType dtype;
    private final AttentionBlocks blocks;
    private final int headDim;
    private final AttentionDropout dropout;
    private final AttentionScratch space;
    private final MemorySegment memory;
    private final AttentionOperand keys;
    private final AttentionOperand values;
    private final AttentionProduct score;
    private final AttentionProduct gather;

    /**
     * Inputs and outputs.
     *
     * @param out (B, Tq, H, D)
     * @param lse (B, H, Tq)
     * @param q   (B, Tq, H, D)
     * @param kv  (B, Tk, 2, H, D)
     */
    record Tensors(Tensor out, Tensor lse, Tensor q, Tensor kv) { }

    /** Returns the scratch memory needed for attention of tensors of the given type. */
    static AttentionScratch space(AttentionShape shape, DType dtype) {
        AttentionBlocks blocks = AttentionBlocks.forward(shape);
        long operand = AttentionOperand.bytes(dtype, blocks.keys(), shape.headDim(), blocks.heads());
        long tile = blocks.tile();
        return AttentionScratch.of(new long[] {operand, operand},
            new long[] {(blocks.keys().side() + tile) * Float.BYTES, dtype == DType.F32 ? 0 : tile * dtype.bytes(),
                blocks.queries().side() * shape.headDim() * Float.BYTES,
                OnlineSoftmax.bytes(blocks.queries().side())});
    }

    /** Compiles the products. {@code memory} has the layout that {@link #space} returns. */
    AttentionForward(MatmulCache matmuls, Tensors tensors, AttentionShape shape, Dropout dropout,
        MemorySegment memory) {
        this.tensors = tensors;
        this.memory = memory;
        dtype = tensors.q.dtype();
        blocks = AttentionBlocks.forward(shape);
        headDim = Math.toIntExact(shape.headDim());
        this.dropout = new AttentionDropout(blocks, dropout);
        space = space(shape, dtype);
        BlockedRange queries = blocks.queries();
        AttentionOperand.Left left = new AttentionOperand.Left(queries, false);
        keys = new AttentionOperand(matmuls, headDim, (head, block) -> blocks.keys(tensors.kv, head, block).transpose(),
            blocks.keys(), left, space.shared(memory, KEYS).address());
        values = new AttentionOperand(matmuls, headDim, (head, block) -> blocks.values(tensors.kv, head, block),
            blocks.keys(), left, space.shared(memory, VALUES).address());
        Own own = new Own(0);
        score = new AttentionProduct(matmuls, queries, keys, blocks.queries(tensors.q, 0, 0), own.scoreTile,
            WriteMode.OVERWRITE);
        gather = new AttentionProduct(matmuls, queries, values, own.weightTile, own.sumRows, WriteMode.values());
    }

    /** Computes attention. */
    void run(WorkerPool pool) {
        int keyBlocks = blocks.keys().blocks();
        int queryBlocks = blocks.queries().blocks();
        pool.run(blocks.heads() * keyBlocks, (worker, task) -> {
            keys.pack(worker, task / keyBlocks, task % keyBlocks);
            values.pack(worker, task / keyBlocks, task % keyBlocks);
        });
        pool.run(blocks.heads() * queryBlocks, (worker, task) ->
            new Own(worker).attend(task / queryBlocks, task % queryBlocks));
    }

    /** Scratch memory of one thread. */
    private final class Own {
        private final int worker;
        /** One row behind {@link #floats}, in the same memory. */
        private final MemorySegment scores;
        /**
         * Weights in single precision. A row replaces the scores of the row before it: those of its own are needed
         * again if one of them exceeds the reference.
         */
        private final MemorySegment floats;
        /** Operand of the product with the values. */
        private final MemorySegment weights;
        private final MemorySegment sums;
        private final MemorySegment room;
        private final Matrix scoreTile;
        private final Matrix weightTile;
        private final Matrix sumRows;

        Own(int worker) {
            this.worker = worker;
            MemorySegment own = space.own(memory, worker);
            floats = space.part(own, SCORES);
            scores = floats.asSlice((long) blocks.keys().side() * Float.BYTES);
            weights = dtype == DType.F32 ? floats : space.part(own, WEIGHTS);
            sums = space.part(own, SUMS);
            room = space.part(own, ROOM);
            scoreTile = Matrix.of(scores, blocks.keys().side());
            weightTile = Matrix.of(dtype, weights, blocks.keys().side());
            sumRows = Matrix.of(sums, headDim);
        }

        /** Computes attention for one block of queries. */
        void attend(int head, int queryBlock) {
            OnlineSoftmax softmax =
                new OnlineSoftmax(blocks.queries().length(queryBlock), blocks.shape().scale(), room);
            Matrix queries = blocks.queries(tensors.q, head, queryBlock);
            for (int keyBlock = 0; keyBlock < blocks.keys().blocks(); keyBlock++) {
                score.run(worker, scoreTile, queries, queryBlock, head, keyBlock, WriteMode.OVERWRITE);
                weigh(softmax, head, queryBlock, keyBlock);
                gather.run(worker, sumRows, weightTile, queryBlock, head, keyBlock,
                    keyBlock == 0 ? WriteMode.OVERWRITE : WriteMode.ADD);
            }
            finish(softmax, head, queryBlock);
        }

        /** Converts scores to weights, and rescales the accumulated sums of every row whose reference m changed. */
        private void weigh(OnlineSoftmax softmax, int head, int queryBlock, int keyBlock) {
            boolean masked = !dropout.isNone();
            int side = blocks.keys().side();
            softmax.next(new OnlineSoftmax.Tile(scores, masked ? DType.F32 : dtype, masked ? floats : weights, side,
                blocks.keys().length(keyBlock)), (row, correction) ->
                    AttentionElements.scale(DType.F32, sums, row * headDim, sums, row * headDim, headDim, correction));
            if (masked) {
                dropout.apply(floats, head, queryBlock, keyBlock);
                if (dtype != DType.F32) {
                    AttentionElements.scale(dtype, weights, 0, floats, 0,
                        blocks.queries().length(queryBlock) * side, 1);
                }
            }
        }

        private void finish(OnlineSoftmax softmax, int head, int queryBlock) {
            MemorySegment lse = HostStorage.of(tensors.lse);
            for (int row = 0; row < blocks.queries().length(queryBlock); row++) {
                AttentionElements.scale(dtype, blocks.query(tensors.out, head, queryBlock, row), 0, sums, row * headDim,
                    headDim, (float) (1 / softmax.sum(row)));
                lse.setAtIndex(ValueLayout.JAVA_FLOAT, blocks.queryRow(head, queryBlock) + row,
                    (float) softmax.logSum(row));
            }
        }
    }
}
