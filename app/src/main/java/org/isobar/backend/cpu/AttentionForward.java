package org.isobar.backend.cpu;

import static org.isobar.backend.cpu.Lanes.WIDTH;
import static org.isobar.backend.cpu.Lanes.load;
import static org.isobar.backend.cpu.Lanes.slice;
import static org.isobar.backend.cpu.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.VectorMask;

import org.isobar.device.Write;

/**
 * Attention of one block of queries to all keys of its head, a block of keys at a time (Dao et al., "FlashAttention",
 * 2022): {@code out} gathers the sum of e^(score - m) v, and is divided by the sum of e^(score - m) at the end.
 *
 * @param blocks         how heads are cut
 * @param out            (B, Tq, H, D)
 * @param lse            (B, H, Tq)
 * @param q              (B, Tq, H, D)
 * @param transposedKeys as {@link AttentionPacking} lays them
 * @param values         as {@link AttentionPacking} lays them
 * @param dropout        over (B, H, Tq, Tk)
 */
record AttentionForward(AttentionBlocks blocks, MemorySegment out, MemorySegment lse, MemorySegment q,
    MemorySegment transposedKeys, MemorySegment values, AttentionDropout dropout) {

    /** Attends from one block of queries, with room for one block of scores. */
    void run(int head, int queryBlock, MemorySegment scores) {
        int queries = blocks.queriesOf(queryBlock);
        OnlineSoftmax softmax = new OnlineSoftmax(queries);
        for (int keyBlock = 0; keyBlock < blocks.keyBlocks(); keyBlock++) {
            score(scores, head, queryBlock, keyBlock);
            int keys = blocks.keysOf(keyBlock);
            for (int row = 0; row < queries; row++) {
                int first = row * blocks.keySide();
                float correction = softmax.next(row, scores, first, keys);
                if (keyBlock > 0 && correction != 1) {
                    scale(outRow(head, queryBlock, row), correction);
                }
            }
            dropout.apply(scores, head, queryBlock, keyBlock);
            gather(scores, head, queryBlock, keyBlock);
        }
        for (int row = 0; row < queries; row++) {
            scale(outRow(head, queryBlock, row), (float) (1 / softmax.sum(row)));
            long query = (long) queryBlock * blocks.querySide() + row;
            lse.setAtIndex(ValueLayout.JAVA_FLOAT, blocks.queryRow(head, query), (float) softmax.logSum(row));
        }
    }

    /** scores = q k^T / sqrt D. */
    private void score(MemorySegment scores, int head, int queryBlock, int keyBlock) {
        long headDim = blocks.shape().headDim();
        Matrix keys = Matrix.of(transposedKeys, blocks.keySide()).at(0, blocks.packed(head, keyBlock));
        OneDnn.product(Matrix.of(scores, blocks.keySide()), blocks.queriesOf(queryBlock), blocks.keysOf(keyBlock),
            headDim, blocks.queries(q, head, queryBlock), keys, (float) blocks.shape().scale(), Write.OVERWRITE);
    }

    /** out += weights v. */
    private void gather(MemorySegment weights, int head, int queryBlock, int keyBlock) {
        long headDim = blocks.shape().headDim();
        OneDnn.product(blocks.queries(out, head, queryBlock), blocks.queriesOf(queryBlock), headDim,
            blocks.keysOf(keyBlock), Matrix.of(weights, blocks.keySide()),
            Matrix.of(values, headDim).at(0, blocks.packed(head, keyBlock)), 1,
            keyBlock == 0 ? Write.OVERWRITE : Write.ADD);
    }

    private MemorySegment outRow(int head, int queryBlock, int row) {
        long first = blocks.query(head, (long) queryBlock * blocks.querySide() + row);
        return slice(out, first, first + blocks.shape().headDim());
    }

    private static void scale(MemorySegment row, float factor) {
        int n = Lanes.count(row);
        int i = 0;
        for (; i <= n - WIDTH; i += WIDTH) {
            store(row, i, load(row, i).mul(factor));
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            store(row, i, load(row, i, rest).mul(factor), rest);
        }
    }
}
