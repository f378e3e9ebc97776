package org.isobar.backend.cpu;

import java.lang.foreign.MemorySegment;

import org.isobar.device.AttentionShape;

/**
 * How attention is cut: each head of each sample into blocks of queries and blocks of keys. Heads are numbered through
 * all samples. The cut depends on the shape alone.
 *
 * @param shape       extents
 * @param querySide   queries of a block, the last one's apart
 * @param keySide     keys of a block, the last one's apart
 * @param queryBlocks blocks of queries in a head
 * @param keyBlocks   blocks of keys in a head
 */
record AttentionBlocks(AttentionShape shape, int querySide, int keySide, int queryBlocks, int keyBlocks) {
    /** Together, a block's scores and keys and values fit into the second cache; products still run at full speed. */
    private static final int QUERIES = 64;
    private static final int KEYS = 256;

    /** The blocks of attention of the given shape. */
    static AttentionBlocks of(AttentionShape shape) {
        int querySide = Tiling.side(shape.queries(), QUERIES);
        int keySide = Tiling.side(shape.keys(), KEYS);
        return new AttentionBlocks(shape, querySide, keySide, Chunks.count(shape.queries(), querySide),
            Chunks.count(shape.keys(), keySide));
    }

    /** Heads of all samples. */
    int heads() {
        return Math.toIntExact(shape.batch() * shape.heads());
    }

    /** Queries of the given block. */
    int queriesOf(int block) {
        return (int) Math.min(querySide, shape.queries() - (long) block * querySide);
    }

    /** Keys of the given block. */
    int keysOf(int block) {
        return (int) Math.min(keySide, shape.keys() - (long) block * keySide);
    }

    /** Channels of a token: elements from one query to the next. */
    long channels() {
        return shape.heads() * shape.headDim();
    }

    /** First element of a head's query {@code token} in a tensor (B, Tq, H, D). */
    long query(int head, long token) {
        return element(head, token, shape.queries(), channels());
    }

    /** Row of a head's query {@code token} in a tensor (B, H, Tq). */
    long queryRow(int head, long token) {
        return head * shape.queries() + token;
    }

    /** First element of a head's key {@code token} in a tensor (B, Tk, 2, H, D). */
    long key(int head, long token) {
        return element(head, token, shape.keys(), 2 * channels());
    }

    /** First element of a head's value {@code token} in a tensor (B, Tk, 2, H, D). */
    long value(int head, long token) {
        return key(head, token) + channels();
    }

    private long element(int head, long token, long tokens, long stride) {
        long sample = head / shape.heads();
        return (sample * tokens + token) * stride + head % shape.heads() * shape.headDim();
    }

    /** A head's queries from {@code block} on in a tensor (B, Tq, H, D). */
    Matrix queries(MemorySegment tensor, int head, int block) {
        return Matrix.of(tensor, channels()).at(0, query(head, (long) block * querySide));
    }

    /** Elements of the keys, or the values, of one block, when they lie alone; whole cache lines. */
    long packedBlock() {
        return keySide * shape.headDim();
    }

    /** Elements of the keys, or the values, of all heads, block by block. */
    long packed() {
        return heads() * keyBlocks * packedBlock();
    }

    /** First element of the given block among the packed ones. */
    long packed(int head, int block) {
        return (head * (long) keyBlocks + block) * packedBlock();
    }

    /** Elements of the scores of one block of queries and one of keys. */
    long scores() {
        return (long) querySide * keySide;
    }
}
