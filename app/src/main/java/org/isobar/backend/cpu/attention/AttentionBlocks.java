package org.isobar.backend.cpu.attention;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.generated.RowCode;
import org.isobar.backend.cpu.parallel.BlockedRange;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.device.ops.AttentionShape;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/**
 * The blocks of attention: each head of each sample is cut into blocks of queries and blocks of keys. Heads are
 * numbered across all samples. Block sizes depend only on shape and type. A thread's tiles approximately fit in its L2
 * cache; products of larger tiles are no faster.
 *
 * @param shape   extents
 * @param queries blocks of a head's queries
 * @param keys    blocks of a head's keys
 */
record AttentionBlocks(AttentionShape shape, BlockedRange queries, BlockedRange keys) {
    private static final int KEYS = 512;
    private static final int QUERIES = 128;
    /** Bytes of a row of a tile of the tensors' type in the backward pass. */
    private static final int QUERY_BYTES = 512;

    /** The blocks of the forward pass. */
    static AttentionBlocks forward(AttentionShape shape) {
        return new AttentionBlocks(shape, BlockedRange.of(shape.queries(), QUERIES),
            BlockedRange.of(shape.keys(), KEYS));
    }

    /** The blocks of the backward pass of tensors of the given type. */
    static AttentionBlocks backward(AttentionShape shape, DType dtype) {
        return new AttentionBlocks(shape, BlockedRange.of(shape.queries(), QUERY_BYTES / dtype.bytes()),
            BlockedRange.of(shape.keys(), KEYS));
    }

    /** Number of heads over all samples. */
    int heads() {
        return Math.toIntExact(shape.batch() * shape.heads());
    }

    /** Channels of a token, which is the number of elements from one query to the next. */
    private long channels() {
        return shape.heads() * shape.headDim();
    }

    /** Row of a block's first query in a tensor (B, H, Tq). */
    long queryRow(int head, int block) {
        return head * queries.extent() + queries.first(block);
    }

    /** A head's queries, (queries, D), starting at {@code block}, in a tensor (B, Tq, H, D). */
    Matrix queries(Tensor tensor, int head, int block) {
        return Matrix.of(tensor, channels()).at(0, query(head, block));
    }

    /** A head's keys, (keys, D), starting at {@code block}, in a tensor (B, Tk, 2, H, D). */
    Matrix keys(Tensor tensor, int head, int block) {
        return Matrix.of(tensor, 2 * channels()).at(0, key(head, block));
    }

    /** A head's values, (keys, D), starting at {@code block}, in a tensor (B, Tk, 2, H, D). */
    Matrix values(Tensor tensor, int head, int block) {
        return Matrix.of(tensor, 2 * channels()).at(0, key(head, block) + channels());
    }

    /** The rows of a head's queries, starting at {@code block}, in a tensor (B, Tq, H, D). */
    RowCode.Rows queryRows(Tensor tensor, int head, int block) {
        return new RowCode.Rows(HostStorage.of(tensor).asSlice(query(head, block) * tensor.dtype().bytes()),
            tensor.dtype(), Math.toIntExact(channels()));
    }

    /** One query of a block in a tensor (B, Tq, H, D). */
    MemorySegment query(Tensor tensor, int head, int block, int row) {
        return channelsOf(tensor, query(head, block) + row * channels());
    }

    /** One key of a block in a tensor (B, Tk, 2, H, D). */
    MemorySegment key(Tensor tensor, int head, int block, int row) {
        return channelsOf(tensor, key(head, block) + row * 2 * channels());
    }

    /** One value of a block in a tensor (B, Tk, 2, H, D). */
    MemorySegment value(Tensor tensor, int head, int block, int row) {
        return channelsOf(tensor, key(head, block) + (row * 2 + 1) * channels());
    }

    private MemorySegment channelsOf(Tensor tensor, long first) {
        int bytes = tensor.dtype().bytes();
        return HostStorage.of(tensor).asSlice(first * bytes, shape.headDim() * bytes);
    }

    private long query(int head, int block) {
        return element(head, queries, block, channels());
    }

    private long key(int head, int block) {
        return element(head, keys, block, 2 * channels());
    }

    private long element(int head, BlockedRange cut, int block, long stride) {
        long sample = head / shape.heads();
        return (sample * cut.extent() + cut.first(block)) * stride + head % shape.heads() * shape.headDim();
    }

    /** Elements of a tile: one block of queries by one block of keys. */
    int tile() {
        return queries.side() * keys.side();
    }
}
