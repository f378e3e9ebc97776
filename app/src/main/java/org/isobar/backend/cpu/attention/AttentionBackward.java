package org.isobar.backend.cpu.attention;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicIntegerArray;

import org.isobar.backend.cpu.onednn.MatmulCache;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;

/**
 * Gradients of attention. Each task handles one block of keys of one head, against all queries. With the weights P =
 * e^(score - lse), their dropout mask M, and delta = sum over channels of dOut out,
 * <pre>
 *   dV = (M P)^T dOut,  dS = P (M (dOut V^T) - delta),  dK = dS^T Q / sqrt D,  dQ = dS K / sqrt D.
 * </pre>
 * Scores are computed transposed, (keys, queries). This makes lse and delta vectors along a row, and only the product
 * for dQ takes a transposed operand. Blocks of keys are added to dQ in index order, regardless of the threads that run
 * them: each waits until the block before it is done with a block of queries.
 */
final class AttentionBackward {
    private static final int BY_QUERIES = 4;
    private static final int KEYS = BY_QUERIES;
    private static final int REFERENCES = 5;
    private static final int DELTAS = 6;
    private static final int D_QUERIES = 7;

    private final AttentionGradients.Tensors tensors;
    private final DType dtype;
    private final AttentionBlocks blocks;
    private final int headDim;
    private final float scale;
    private final AttentionDropout dropout;
    private final AttentionScratch space;
    private final MemorySegment memory;
    private final AttentionGradients gradients;
    /** For each task, the number of blocks of queries that it has finished. */
    private final AtomicIntegerArray done;

    /** Returns the scratch memory needed for the gradients of tensors of the given type. */
    static AttentionScratch space(AttentionShape shape, DType dtype) {
        AttentionBlocks blocks = AttentionBlocks.backward(shape, dtype);
        long byQueries = AttentionOperand.bytes(dtype, blocks.queries(), shape.headDim(), blocks.heads());
        long byKeys = dtype == DType.F32 ? 0 // never packed
            : AttentionOperand.bytes(dtype, blocks.keys(), shape.headDim(), blocks.heads());
        long floats = (long) blocks.heads() * blocks.queries().blocks() * blocks.queries().side() * Float.BYTES;
        return AttentionScratch.of(new long[] {byQueries, byQueries, byQueries, byQueries, byKeys, floats, floats,
            floats * shape.headDim()}, AttentionTiles.sizes(blocks, dtype));
    }

    /** Compiles the products. {@code memory} has the layout that {@link #space} returns. */
    AttentionBackward(MatmulCache matmuls, AttentionGradients.Tensors tensors, AttentionShape shape, Dropout dropout,
        MemorySegment memory) {
        this.tensors = tensors;
        this.memory = memory;
        dtype = tensors.q().dtype();
        blocks = AttentionBlocks.backward(shape, dtype);
        headDim = Math.toIntExact(shape.headDim());
        scale = (float) shape.scale();
        this.dropout = new AttentionDropout(blocks, dropout);
        space = space(shape, dtype);
        long[] byQueries = new long[BY_QUERIES];
        for (int i = 0; i < BY_QUERIES; i++) {
            byQueries[i] = space.shared(memory, i).address();
        }
        gradients = new AttentionGradients(matmuls, blocks, tensors, byQueries, space.shared(memory, KEYS).address());
        done = new AtomicIntegerArray(blocks.heads() * blocks.keys().blocks());
    }

    /** Computes the gradients. */
    void run(WorkerPool pool) {
        int queryBlocks = blocks.queries().blocks();
        int keyBlocks = blocks.keys().blocks();
        pool.run(blocks.heads() * queryBlocks, (worker, task) -> {
            gradients.packQueries(worker, task / queryBlocks, task % queryBlocks);
            statistics(task / queryBlocks, task % queryBlocks);
        });
        pool.run(blocks.heads() * keyBlocks, (worker, task) ->
            gradients.packKeys(worker, task / keyBlocks, task % keyBlocks));
        pool.run(done.length(), this::runTask); // consecutive tasks belong to different heads
    }

    /**
     * Computes, for each query of a block, the terms shared by all keys: -lse / ln 2, which is added to exponents of
     * two, and delta.
     */
    private void statistics(int head, int block) {
        MemorySegment lse = HostStorage.of(tensors.lse());
        MemorySegment references = perQuery(REFERENCES, head, block);
        for (int row = 0; row < blocks.queries().length(block); row++) {
            double natural = lse.getAtIndex(ValueLayout.JAVA_FLOAT, blocks.queryRow(head, block) + row);
            references.setAtIndex(ValueLayout.JAVA_FLOAT, row, (float) (-natural / Math.log(2)));
        }
        AttentionElements.dotRows(perQuery(DELTAS, head, block), blocks.queryRows(tensors.dOut(), head, block),
            blocks.queryRows(tensors.out(), head, block), blocks.queries().length(block), headDim);
    }

    /** Memory for one float per query of a block. */
    private MemorySegment perQuery(int part, int head, int block) {
        return ofBlock(part, head, block, (long) blocks.queries().side() * Float.BYTES);
    }

    /** Single-precision sums of dQ, (queries, D). */
    private MemorySegment dQueries(int head, int block) {
        return ofBlock(D_QUERIES, head, block, (long) blocks.queries().side() * headDim * Float.BYTES);
    }

    private MemorySegment ofBlock(int part, int head, int block, long bytes) {
        return space.shared(memory, part).asSlice(((long) head * blocks.queries().blocks() + block) * bytes, bytes);
    }

    /** Runs one task: one block of keys of one head. All tasks of lower index must be running or done. */
    private void runTask(int worker, int task) {
        int head = task % blocks.heads();
        int keyBlock = task / blocks.heads();
        AttentionTiles tiles = new AttentionTiles(space, space.own(memory, worker), blocks, dtype, dropout);
        try {
            for (int queryBlock = 0; queryBlock < blocks.queries().blocks(); queryBlock++) {
                WriteMode write = queryBlock == 0 ? WriteMode.OVERWRITE : WriteMode.ADD;
                gradients.scores(worker, tiles.scores(), head, queryBlock, keyBlock);
                gradients.dWeights(worker, tiles.dWeights(), head, queryBlock, keyBlock);
                tiles.softmax(perQuery(REFERENCES, head, queryBlock), perQuery(DELTAS, head, queryBlock), head,
                    queryBlock, keyBlock);
                gradients.dValues(worker, Matrix.of(tiles.dValues(), headDim), tiles.weights(), head, queryBlock,
                    keyBlock, write);
                gradients.dKeys(worker, Matrix.of(tiles.dKeys(), headDim), tiles.dScores(), head, queryBlock, keyBlock,
                    write);
                awaitTurn(task, queryBlock);
                toQueries(worker, tiles, head, queryBlock, keyBlock);
                done.set(task, queryBlock + 1);
            }
            finish(tiles, head, keyBlock);
        } finally {
            done.set(task, blocks.queries().blocks()); // even after a failure, so that no other task waits forever
        }
    }

    /** Waits until the preceding block of keys of this head has been added to the gradients of these queries. */
    private void awaitTurn(int task, int queryBlock) {
        int before = task - blocks.heads();
        while (before >= 0 && done.get(before) <= queryBlock) {
            Thread.yield(); // rare, because consecutive tasks belong to different heads
        }
    }

    private void toQueries(int worker, AttentionTiles tiles, int head, int queryBlock, int keyBlock) {
        MemorySegment sums = dQueries(head, queryBlock);
        gradients.dQueries(worker, Matrix.of(sums, headDim), tiles.dScores(), head, queryBlock, keyBlock,
            keyBlock == 0 ? WriteMode.OVERWRITE : WriteMode.ADD);
        if (keyBlock == blocks.keys().blocks() - 1) {
            for (int row = 0; row < blocks.queries().length(queryBlock); row++) {
                AttentionElements.scale(dtype, blocks.query(tensors.dq(), head, queryBlock, row), 0, sums,
                    row * headDim,
                    headDim, scale);
            }
        }
    }

    private void finish(AttentionTiles tiles, int head, int keyBlock) {
        for (int row = 0; row < blocks.keys().length(keyBlock); row++) {
            AttentionElements.scale(dtype, blocks.key(tensors.dkv(), head, keyBlock, row), 0, tiles.dKeys(),
                row * headDim, headDim, scale);
            AttentionElements.scale(dtype, blocks.value(tensors.dkv(), head, keyBlock, row), 0, tiles.dValues(),
                row * headDim, headDim, 1);
        }
    }
}
