package org.isobar.backend.cpu;

import static org.isobar.backend.cpu.Lanes.slice;

import java.lang.foreign.MemorySegment;

import org.isobar.device.AttentionShape;
import org.isobar.device.Dropout;
import org.isobar.tensor.Shape;

/**
 * Masks blocks of attention weights, or of their gradients.
 *
 * @param blocks  how heads are cut
 * @param dropout over (B, H, Tq, Tk)
 */
record AttentionDropout(AttentionBlocks blocks, Dropout dropout) {
    /** {@code weights = mask * weights} for one block of queries and one of keys. */
    void apply(MemorySegment weights, int head, int queryBlock, int keyBlock) {
        if (dropout.isNone()) {
            return;
        }
        AttentionShape shape = blocks.shape();
        DropoutRow mask = new DropoutRow(dropout,
            Shape.of(shape.batch(), shape.heads(), shape.queries(), shape.keys()));
        long query = blocks.queryRow(head, (long) queryBlock * blocks.querySide());
        for (int row = 0; row < blocks.queriesOf(queryBlock); row++) {
            long first = (long) row * blocks.keySide();
            MemorySegment part = slice(weights, first, first + blocks.keysOf(keyBlock));
            mask.apply(part, part, query + row, (long) keyBlock * blocks.keySide());
        }
    }
}
