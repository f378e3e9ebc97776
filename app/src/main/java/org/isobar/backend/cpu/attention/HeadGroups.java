package org.isobar.backend.cpu.attention;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.generated.RowCode;
import org.isobar.backend.cpu.parallel.BlockedRange;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.backend.cpu.product.MatrixStack;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * The tasks of attention over short sequences: each has several heads of one sample, whose scores fit in cache
 * together. One call then computes a product for all of them, from the tensors as they are. Depends only on the shape.
 *
 * @param shape extents
 * @param heads heads of a task, G; divides the number of heads
 */
record HeadGroups(AttentionShape shape, int heads) {
    /** Rows of scores and of their transpose are whole pairs of vectors, up to 512 bits each. */
    private static final int UNIT = 32;
    /** Most scores of a head. */
    private static final int SCORES_OF_HEAD = 1 << 16;
    /** Most scores of a task with several heads. The backward pass keeps two tiles of them, 192 KiB each in F32. */
    private static final int SCORES = 3 << 14;
    /** Tasks that are worth more than fewer calls. */
    private static final int FEWEST_TASKS = 8;

    /** Returns whether attention of this shape is computed in such tasks. */
    static boolean suit(AttentionShape shape, Dropout dropout) {
        return dropout.isNone() && shape.queries() % UNIT == 0 && shape.keys() % UNIT == 0
            && shape.queries() * shape.keys() <= SCORES_OF_HEAD;
    }

    /** Forms tasks of as many heads as fit in cache and leave work for several threads. */
    static HeadGroups of(AttentionShape shape) {
        long scores = shape.queries() * shape.keys();
        int heads = Math.toIntExact(shape.heads());
        while (heads > 1 && (shape.heads() % heads > 0 || heads * scores > SCORES
            || shape.batch() * (shape.heads() / heads) < FEWEST_TASKS)) {
            heads--;
        }
        return new HeadGroups(shape, heads);
    }

    /** Number of tasks. */
    int tasks() {
        return Math.toIntExact(shape.batch() * shape.heads() / heads);
    }

    /** Scores of all heads of a task. */
    long scores() {
        return heads * shape.queries() * shape.keys();
    }

    int queries() {
        return Math.toIntExact(shape.queries());
    }

    int keys() {
        return Math.toIntExact(shape.keys());
    }

    int headDim() {
        return Math.toIntExact(shape.headDim());
    }

    /** The blocks of all heads: one of queries and one of keys. */
    private AttentionBlocks blocks() {
        return new AttentionBlocks(shape, new BlockedRange(queries(), queries()), new BlockedRange(keys(), keys()));
    }

    /** Queries (G, Tq, D) of a task in a tensor (B, Tq, H, D). */
    MatrixStack queries(Tensor tensor, int task) {
        return new MatrixStack(blocks().queries(tensor, task * heads, 0), shape.headDim());
    }

    /** Keys (G, Tk, D) of a task in a tensor (B, Tk, 2, H, D). */
    MatrixStack keys(Tensor tensor, int task) {
        return new MatrixStack(blocks().keys(tensor, task * heads, 0), shape.headDim());
    }

    /** Values (G, Tk, D) of a task in a tensor (B, Tk, 2, H, D). */
    MatrixStack values(Tensor tensor, int task) {
        return new MatrixStack(blocks().values(tensor, task * heads, 0), shape.headDim());
    }

    /** Contiguous matrices (G, rows, columns) in {@code memory}. */
    static MatrixStack tiles(DType dtype, MemorySegment memory, long rows, long columns) {
        return new MatrixStack(Matrix.of(dtype, memory, columns), rows * columns);
    }

    /** The rows of one head's queries in a tensor (B, Tq, H, D). */
    RowCode.Rows queriesOf(Tensor tensor, int head) {
        return blocks().queryRows(tensor, head, 0);
    }
}
