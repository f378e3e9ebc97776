package org.isobar.backend.cpu.attention;

import static org.isobar.backend.cpu.vector.Lanes.slice;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

import org.isobar.backend.cpu.vector.DropoutRow;
import org.isobar.backend.cpu.vector.Transposition;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.tensor.Shape;

/**
 * Dropout masks for blocks of attention weights or of their gradients.
 *
 * @param blocks  the blocks of each head
 * @param dropout over (B, H, Tq, Tk)
 */
record AttentionDropout(AttentionBlocks blocks, Dropout dropout) {
    /** Returns whether no dropout is applied. */
    boolean isNone() {
        return dropout.isNone();
    }

    /** Computes {@code weights = mask * weights} for one block of queries and one of keys, (queries, keys). */
    void apply(MemorySegment weights, int head, int queryBlock, int keyBlock) {
        AttentionShape shape = blocks.shape();
        DropoutRow mask = new DropoutRow(dropout,
            Shape.of(shape.batch(), shape.heads(), shape.queries(), shape.keys()));
        long query = blocks.queryRow(head, queryBlock);
        for (int row = 0; row < blocks.queries().length(queryBlock); row++) {
            long first = (long) row * blocks.keys().side();
            MemorySegment part = slice(weights, first, first + blocks.keys().length(keyBlock));
            mask.apply(part, part, query + row, blocks.keys().first(keyBlock));
        }
    }

    /**
     * Writes the transposed mask, (keys, queries), of one block of queries and one of keys. {@code scratch} has its
     * size.
     */
    void transposed(MemorySegment mask, MemorySegment scratch, int head, int queryBlock, int keyBlock) {
        for (long i = 0; i < blocks.tile(); i++) {
            scratch.setAtIndex(ValueLayout.JAVA_FLOAT, i, 1);
        }
        apply(scratch, head, queryBlock, keyBlock);
        Transposition.copy(mask, 0, blocks.queries().side(), scratch, 0, blocks.keys().side(),
            blocks.queries().length(queryBlock), blocks.keys().length(keyBlock));
    }
}
