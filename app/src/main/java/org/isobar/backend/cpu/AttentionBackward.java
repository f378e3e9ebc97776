package org.isobar.backend.cpu;

import static org.isobar.backend.cpu.Lanes.WIDTH;
import static org.isobar.backend.cpu.Lanes.load;
import static org.isobar.backend.cpu.Lanes.slice;
import static org.isobar.backend.cpu.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicIntegerArray;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;

import org.isobar.device.Write;

/**
 * Gradients of attention, one block of keys of one head at a time, against all queries. With the weights
 * P = e^(score - lse), their mask M, and delta = sum over channels of dOut out,
 * <pre>
 *   dV = (M P)^T dOut,  dS = P (M (dOut V^T) - delta),  dK = dS^T Q / sqrt D,  dQ = dS K / sqrt D.
 * </pre>
 * The blocks of keys add to dQ in their order, whichever threads they run on: each waits for its predecessor to be
 * done with a block of queries.
 */
final class AttentionBackward {
    private final AttentionBlocks blocks;
    private final Operands operands;
    private final AttentionDropout dropout;
    /** Blocks of queries that the task of this number is done with. */
    private final AtomicIntegerArray done;

    /**
     * What is read and written.
     *
     * @param dq               (B, Tq, H, D)
     * @param dkv              (B, Tk, 2, H, D)
     * @param dOut             (B, Tq, H, D)
     * @param q                (B, Tq, H, D)
     * @param lse              (B, H, Tq)
     * @param delta            (B, H, Tq)
     * @param keys             as {@link AttentionPacking} lays them
     * @param transposedKeys   likewise
     * @param transposedValues likewise
     */
    record Operands(MemorySegment dq, MemorySegment dkv, MemorySegment dOut, MemorySegment q, MemorySegment lse,
        MemorySegment delta, MemorySegment keys, MemorySegment transposedKeys, MemorySegment transposedValues) { }

    AttentionBackward(AttentionBlocks blocks, Operands operands, AttentionDropout dropout) {
        this.blocks = blocks;
        this.operands = operands;
        this.dropout = dropout;
        done = new AtomicIntegerArray(tasks());
    }

    /** Tasks for {@link #run}: one for each block of keys of each head, neighbours being of different heads. */
    int tasks() {
        return blocks.heads() * blocks.keyBlocks();
    }

    /** Elements that a task needs for itself. */
    static long scratch(AttentionBlocks blocks) {
        return 2 * blocks.scores() + 2 * blocks.packedBlock();
    }

    /** Runs one task; those of lower numbers must be running or done. */
    void run(int task, MemorySegment scratch) {
        int head = task % blocks.heads();
        int keyBlock = task / blocks.heads();
        long tile = blocks.scores();
        long gradient = blocks.packedBlock();
        MemorySegment weights = slice(scratch, 0, tile);
        MemorySegment dScores = slice(scratch, tile, 2 * tile);
        MemorySegment dKeys = slice(scratch, 2 * tile, 2 * tile + gradient);
        MemorySegment dValues = slice(scratch, 2 * tile + gradient, 2 * tile + 2 * gradient);
        try {
            for (int queryBlock = 0; queryBlock < blocks.queryBlocks(); queryBlock++) {
                Write write = queryBlock == 0 ? Write.OVERWRITE : Write.ADD;
                fromQueries(weights, operands.q(), operands.transposedKeys(), scale(), head, queryBlock, keyBlock);
                fromQueries(dScores, operands.dOut(), operands.transposedValues(), 1, head, queryBlock, keyBlock);
                dropout.apply(dScores, head, queryBlock, keyBlock);
                softmaxBackward(weights, dScores, head, queryBlock, blocks.keysOf(keyBlock));
                dropout.apply(weights, head, queryBlock, keyBlock);
                toKeys(dValues, weights, operands.dOut(), 1, head, queryBlock, keyBlock, write);
                toKeys(dKeys, dScores, operands.q(), scale(), head, queryBlock, keyBlock, write);
                awaitTurn(task, queryBlock);
                toQueries(dScores, head, queryBlock, keyBlock);
                done.set(task, queryBlock + 1);
            }
            unpack(dKeys, blocks.key(head, (long) keyBlock * blocks.keySide()), keyBlock);
            unpack(dValues, blocks.value(head, (long) keyBlock * blocks.keySide()), keyBlock);
        } finally {
            done.set(task, blocks.queryBlocks()); // after a failure too: nobody may wait for ever
        }
    }

    private float scale() {
        return (float) blocks.shape().scale();
    }

    /** to = scale x y, with x the queries' rows of a tensor and y (D, keys) those of the keys. */
    private void fromQueries(MemorySegment to, MemorySegment x, MemorySegment y, float scale, int head,
        int queryBlock, int keyBlock) {
        OneDnn.product(Matrix.of(to, blocks.keySide()), blocks.queriesOf(queryBlock), blocks.keysOf(keyBlock),
            blocks.shape().headDim(), blocks.queries(x, head, queryBlock),
            Matrix.of(y, blocks.keySide()).at(0, blocks.packed(head, keyBlock)), scale, Write.OVERWRITE);
    }

    /** to (keys, D) = or += scale tile^T x, with x the queries' rows of a tensor. */
    private void toKeys(MemorySegment to, MemorySegment tile, MemorySegment x, float scale, int head, int queryBlock,
        int keyBlock, Write write) {
        OneDnn.product(Matrix.of(to, blocks.shape().headDim()), blocks.keysOf(keyBlock), blocks.shape().headDim(),
            blocks.queriesOf(queryBlock), Matrix.of(tile, blocks.keySide()).transpose(),
            blocks.queries(x, head, queryBlock), scale, write);
    }

    /** dq = or += dScores k / sqrt D. */
    private void toQueries(MemorySegment dScores, int head, int queryBlock, int keyBlock) {
        long headDim = blocks.shape().headDim();
        OneDnn.product(blocks.queries(operands.dq(), head, queryBlock), blocks.queriesOf(queryBlock), headDim,
            blocks.keysOf(keyBlock), Matrix.of(dScores, blocks.keySide()),
            Matrix.of(operands.keys(), headDim).at(0, blocks.packed(head, keyBlock)), scale(),
            keyBlock == 0 ? Write.OVERWRITE : Write.ADD);
    }

    /** Scores to weights and, behind them, gradients of the weights to those of the scores. */
    private void softmaxBackward(MemorySegment weights, MemorySegment dScores, int head, int queryBlock, int keys) {
        for (int row = 0; row < blocks.queriesOf(queryBlock); row++) {
            long query = blocks.queryRow(head, (long) queryBlock * blocks.querySide() + row);
            softmaxBackward(weights, dScores, row * blocks.keySide(), keys,
                operands.lse().getAtIndex(ValueLayout.JAVA_FLOAT, query),
                operands.delta().getAtIndex(ValueLayout.JAVA_FLOAT, query));
        }
    }

    private static void softmaxBackward(MemorySegment weights, MemorySegment dScores, int first, int count, float lse,
        float delta) {
        int i = first;
        for (; i <= first + count - WIDTH; i += WIDTH) {
            FloatVector weight = VectorMath.exp(load(weights, i).sub(lse));
            store(weights, i, weight);
            store(dScores, i, load(dScores, i).sub(delta).mul(weight));
        }
        if (i < first + count) {
            VectorMask<Float> rest = Lanes.below(i, first + count);
            FloatVector weight = VectorMath.exp(load(weights, i, rest).sub(lse));
            store(weights, i, weight, rest);
            store(dScores, i, load(dScores, i, rest).sub(delta).mul(weight), rest);
        }
    }

    /** Waits until the head's block of keys before this one has added its share to the gradients of these queries. */
    private void awaitTurn(int task, int queryBlock) {
        int before = task - blocks.heads();
        while (before >= 0 && done.get(before) <= queryBlock) {
            Thread.yield(); // rare, since neighbouring tasks are of different heads
        }
    }

    /** Puts the gradients of a block, (keys, D), where its keys, or its values, begin in dkv. */
    private void unpack(MemorySegment gradients, long first, int keyBlock) {
        long bytes = blocks.shape().headDim() * Float.BYTES;
        for (int key = 0; key < blocks.keysOf(keyBlock); key++) {
            MemorySegment.copy(gradients, key * bytes, operands.dkv(),
                (first + key * 2 * blocks.channels()) * Float.BYTES, bytes);
        }
    }
}
