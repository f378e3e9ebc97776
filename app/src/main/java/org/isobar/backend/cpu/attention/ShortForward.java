package org.isobar.backend.cpu.attention;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

import org.isobar.backend.cpu.generated.RowCode;
import org.isobar.backend.cpu.onednn.MatmulCache;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.product.MatrixStack;
import org.isobar.backend.cpu.product.StackedMatmul;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.device.ops.AttentionShape;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;

/** Attention over short sequences, several heads at a time. */
final class ShortForward {
    private static final int SCORES = 0;
    private static final int WEIGHTS = 1;
    private static final int OUT = 2;
    private static final int SUMS = 3;
    private static final int MAXIMA = 4;

    private final AttentionForward.Tensors tensors;
    private final DType dtype;
    private final HeadGroups groups;
    private final AttentionScratch space;
    private final MemorySegment memory;
    private final StackedMatmul score;
    private final StackedMatmul gather;

    /** Returns the scratch memory needed for tensors of the given type. */
    static AttentionScratch space(AttentionShape shape, DType dtype) {
        HeadGroups groups = HeadGroups.of(shape);
        long rows = groups.heads() * shape.queries();
        long weights = dtype == DType.F32 ? 0 : groups.scores() * dtype.bytes(); // in F32 they overwrite scores
        return AttentionScratch.of(new long[0], new long[] {groups.scores() * Float.BYTES, weights,
            rows * shape.headDim() * Float.BYTES, rows * Lanes.WIDTH * Float.BYTES, rows * Float.BYTES});
    }

    /** Compiles the products. {@code memory} has the layout that {@link #space} returns. */
    ShortForward(MatmulCache matmuls, AttentionForward.Tensors tensors, AttentionShape shape, MemorySegment memory) {
        this.tensors = tensors;
        this.memory = memory;
        dtype = tensors.q().dtype();
        groups = HeadGroups.of(shape);
        space = space(shape, dtype);
        long g = groups.heads();
        MemorySegment own = space.own(memory, 0);
        score = matmuls.stacked(new StackedMatmul.Extents(g, shape.queries(), shape.keys(), shape.headDim()),
            groups.queries(tensors.q(), 0), groups.keys(tensors.kv(), 0).transpose(), scores(own), 1);
        gather = matmuls.stacked(new StackedMatmul.Extents(g, shape.queries(), shape.headDim(), shape.keys()),
            weights(own), groups.values(tensors.kv(), 0), out(own), 1);
    }

    private MatrixStack scores(MemorySegment own) {
        return HeadGroups.tiles(DType.F32, space.part(own, SCORES), groups.queries(), groups.keys());
    }

    private MatrixStack weights(MemorySegment own) {
        return HeadGroups.tiles(dtype, space.part(own, dtype == DType.F32 ? SCORES : WEIGHTS), groups.queries(),
            groups.keys());
    }

    private MatrixStack out(MemorySegment own) {
        return HeadGroups.tiles(DType.F32, space.part(own, OUT), groups.queries(), groups.headDim());
    }

    /** Computes attention. */
    void run(WorkerPool pool) {
        pool.runApart(groups.tasks(), (worker, task) -> {
            MemorySegment own = space.own(memory, worker);
            score.run(worker, scores(own), groups.queries(tensors.q(), task),
                groups.keys(tensors.kv(), task).transpose());
            weigh(own);
            gather.run(worker, out(own), weights(own), groups.values(tensors.kv(), task));
            for (int head = 0; head < groups.heads(); head++) {
                finish(own, task * groups.heads() + head, head * groups.queries());
            }
        });
    }

    private void weigh(MemorySegment own) {
        int rows = groups.heads() * groups.queries();
        int maxima = floatIndex(MAXIMA);
        SoftmaxTile.toMaxima(own, floatIndex(SCORES), maxima, rows, groups.keys());
        if (dtype == DType.F32) {
            SoftmaxTile.toFloats(own, floatIndex(SCORES), maxima, floatIndex(SUMS), rows, groups.keys(), factor());
        } else {
            int weights = Math.toIntExact(space.own()[WEIGHTS] / dtype.bytes());
            SoftmaxTile.toHalves(own, floatIndex(SCORES), weights, maxima, floatIndex(SUMS), rows, groups.keys(),
                factor());
        }
    }

    private int floatIndex(int part) {
        return Math.toIntExact(space.own()[part] / Float.BYTES);
    }

    /** Factor from unscaled scores to exponents of two. */
    private float factor() {
        return (float) (groups.shape().scale() / Math.log(2));
    }

    /** Divides a head's rows by their sums of weights. {@code first} is its first row among those of the task. */
    private void finish(MemorySegment own, int head, int first) {
        MemorySegment lse = HostStorage.of(tensors.lse());
        int sums = floatIndex(SUMS) + first * Lanes.WIDTH;
        SoftmaxTile.toInverseSums(own, sums, groups.queries());
        AttentionElements.scaleRows(groups.queriesOf(tensors.out(), head),
            floats(own, floatIndex(OUT) + first * groups.headDim(), groups.headDim()),
            floats(own, sums + SoftmaxTile.INVERSE, Lanes.WIDTH), groups.queries(), groups.headDim());
        for (int row = 0; row < groups.queries(); row++) {
            double m = own.getAtIndex(ValueLayout.JAVA_FLOAT, floatIndex(MAXIMA) + first + row);
            double sum = own.get(ValueLayout.JAVA_DOUBLE, (sums + (long) row * Lanes.WIDTH) * Float.BYTES);
            lse.setAtIndex(ValueLayout.JAVA_FLOAT, (long) head * groups.queries() + row,
                (float) (m * groups.shape().scale() + Math.log(sum)));
        }
    }

    /** Rows of floats that begin at an index. */
    private static RowCode.Rows floats(MemorySegment own, long first, int stride) {
        return new RowCode.Rows(own.asSlice(first * Float.BYTES), DType.F32, stride);
    }
}
