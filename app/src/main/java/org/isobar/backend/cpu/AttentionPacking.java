package org.isobar.backend.cpu;

import java.lang.foreign.MemorySegment;

/**
 * Keys and values of each head, block by block: in the tensor those of a head lie far apart, at distances that are bad
 * for caches, and products that need them transposed would transpose them anew for each block of queries.
 *
 * @param blocks how they are cut
 * @param kv     (B, Tk, 2, H, D)
 */
record AttentionPacking(AttentionBlocks blocks, MemorySegment kv) {
    /** Copies the keys of a block, (keys, D). */
    void keys(MemorySegment to, int head, int block) {
        copy(to, head, block, blocks.key(head, (long) block * blocks.keySide()));
    }

    /** Copies the values of a block, (keys, D). */
    void values(MemorySegment to, int head, int block) {
        copy(to, head, block, blocks.value(head, (long) block * blocks.keySide()));
    }

    /** Copies the keys of a block, (D, keys), rows {@link AttentionBlocks#keySide} apart. */
    void transposedKeys(MemorySegment to, int head, int block) {
        transpose(to, head, block, blocks.key(head, (long) block * blocks.keySide()));
    }

    /** Copies the values of a block, (D, keys), rows {@link AttentionBlocks#keySide} apart. */
    void transposedValues(MemorySegment to, int head, int block) {
        transpose(to, head, block, blocks.value(head, (long) block * blocks.keySide()));
    }

    private void copy(MemorySegment to, int head, int block, long first) {
        long headDim = blocks.shape().headDim();
        long target = blocks.packed(head, block);
        for (int key = 0; key < blocks.keysOf(block); key++) {
            MemorySegment.copy(kv, (first + key * 2 * blocks.channels()) * Float.BYTES,
                to, (target + key * headDim) * Float.BYTES, headDim * Float.BYTES);
        }
    }

    private void transpose(MemorySegment to, int head, int block, long first) {
        Transposition.copy(to, blocks.packed(head, block), blocks.keySide(), kv, first, 2 * blocks.channels(),
            blocks.keysOf(block), (int) blocks.shape().headDim());
    }
}
