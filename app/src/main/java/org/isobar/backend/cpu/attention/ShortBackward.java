package org.isobar.backend.cpu.attention;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

import org.isobar.backend.cpu.onednn.MatmulCache;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.product.MatrixStack;
import org.isobar.backend.cpu.product.StackedMatmul;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.device.ops.AttentionShape;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;

/**
 * Gradients of attention over short sequences, several heads at a time. Tiles are transposed, (keys, queries), as in
 * {@link AttentionBackward}, which has the formulas.
 */
final class ShortBackward {
    private static final int SCORES = 0;
    private static final int D_WEIGHTS = 1;
    private static final int WEIGHTS = 2;
    private static final int D_SCORES = 3;
    private static final int REFERENCES = 4;
    private static final int DELTAS = 5;

    private final AttentionGradients.Tensors tensors;
    private final DType dtype;
    private final HeadGroups groups;
    private final AttentionScratch space;
    private final MemorySegment memory;
    private final StackedMatmul scores;
    private final StackedMatmul dKeys;
    private final StackedMatmul dValues;
    private final StackedMatmul dQueries;

    /** Returns the scratch memory needed for the gradients of tensors of the given type. */
    static AttentionScratch space(AttentionShape shape, DType dtype) {
        HeadGroups groups = HeadGroups.of(shape);
        long floats = groups.scores() * Float.BYTES;
        long operands = dtype == DType.F32 ? 0 : groups.scores() * dtype.bytes(); // in F32 they overwrite the tiles
        long rows = groups.heads() * shape.queries() * Float.BYTES;
        return AttentionScratch.of(new long[0], new long[] {floats, floats, operands, operands, rows, rows});
    }

    /** Compiles the products. {@code memory} has the layout that {@link #space} returns. */
    ShortBackward(MatmulCache matmuls, AttentionGradients.Tensors tensors, AttentionShape shape,
        MemorySegment memory) {
        this.tensors = tensors;
        this.memory = memory;
        dtype = tensors.q().dtype();
        groups = HeadGroups.of(shape);
        space = space(shape, dtype);
        float scale = (float) shape.scale();
        long g = groups.heads();
        long d = shape.headDim();
        MemorySegment own = space.own(memory, 0);
        MatrixStack q = groups.queries(tensors.q(), 0);
        MatrixStack keys = groups.keys(tensors.kv(), 0);
        MatrixStack dKey = groups.keys(tensors.dkv(), 0);
        MatrixStack tile = operand(own, WEIGHTS, SCORES);
        scores = matmuls.stacked(new StackedMatmul.Extents(g, shape.keys(), shape.queries(), d), keys, q.transpose(),
            floats(own, SCORES), 1);
        dValues = matmuls.stacked(new StackedMatmul.Extents(g, shape.keys(), d, shape.queries()), tile, q, dKey, 1);
        dKeys = matmuls.stacked(new StackedMatmul.Extents(g, shape.keys(), d, shape.queries()), tile, q, dKey, scale);
        dQueries = matmuls.stacked(new StackedMatmul.Extents(g, shape.queries(), d, shape.keys()), tile.transpose(),
            keys, groups.queries(tensors.dq(), 0), scale);
    }

    private MatrixStack floats(MemorySegment own, int part) {
        return HeadGroups.tiles(DType.F32, space.part(own, part), groups.keys(), groups.queries());
    }

    /** A tile as an operand: of its own in half precision, in place of another tile in single precision. */
    private MatrixStack operand(MemorySegment own, int half, int single) {
        return HeadGroups.tiles(dtype, space.part(own, dtype == DType.F32 ? single : half), groups.keys(),
            groups.queries());
    }

    /** Computes the gradients. */
    void run(WorkerPool pool) {
        pool.runApart(groups.tasks(), (worker, task) -> {
            MemorySegment own = space.own(memory, worker);
            MatrixStack q = groups.queries(tensors.q(), task);
            MatrixStack dOut = groups.queries(tensors.dOut(), task);
            MatrixStack keys = groups.keys(tensors.kv(), task);
            scores.run(worker, floats(own, SCORES), keys, q.transpose());
            scores.run(worker, floats(own, D_WEIGHTS), groups.values(tensors.kv(), task), dOut.transpose());
            for (int head = 0; head < groups.heads(); head++) {
                statistics(own, task * groups.heads() + head, head * groups.queries());
                softmax(own, head);
            }
            MatrixStack dScores = operand(own, D_SCORES, D_WEIGHTS);
            dValues.run(worker, groups.values(tensors.dkv(), task), operand(own, WEIGHTS, SCORES), dOut);
            dKeys.run(worker, groups.keys(tensors.dkv(), task), dScores, q);
            dQueries.run(worker, groups.queries(tensors.dq(), task), dScores.transpose(), keys);
        });
    }

    /** Computes -lse / ln 2 and delta of each query of a head, whose first query has index {@code first}. */
    private void statistics(MemorySegment own, int head, int first) {
        MemorySegment lse = HostStorage.of(tensors.lse());
        for (int row = 0; row < groups.queries(); row++) {
            double natural = lse.getAtIndex(ValueLayout.JAVA_FLOAT, (long) head * groups.queries() + row);
            own.setAtIndex(ValueLayout.JAVA_FLOAT, space.own()[REFERENCES] / Float.BYTES + first + row,
                (float) (-natural / Math.log(2)));
        }
        long deltas = space.own()[DELTAS] / Float.BYTES + first;
        AttentionElements.dotRows(Lanes.slice(own, deltas, deltas + groups.queries()),
            groups.queriesOf(tensors.dOut(), head), groups.queriesOf(tensors.out(), head), groups.queries(),
            groups.headDim());
    }

    /** Converts one head's scores to weights, and gradients of the weights to gradients of the scores. */
    private void softmax(MemorySegment own, int head) {
        long[] at = space.own();
        long row = (long) head * groups.queries() * Float.BYTES;
        boolean single = dtype == DType.F32;
        new SoftmaxGradient(own, at[SCORES], at[D_WEIGHTS], dtype, at[single ? SCORES : WEIGHTS], dtype,
            at[single ? D_WEIGHTS : D_SCORES], at[REFERENCES] + row, at[DELTAS] + row,
            (float) (groups.shape().scale() / Math.log(2)))
            .rows(head * groups.keys() * groups.queries(), groups.keys(), groups.queries());
    }
}
