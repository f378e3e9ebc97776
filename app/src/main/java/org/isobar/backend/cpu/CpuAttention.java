package org.isobar.backend.cpu;

import static org.isobar.backend.cpu.Lanes.WIDTH;
import static org.isobar.backend.cpu.Lanes.load;
import static org.isobar.backend.cpu.Lanes.slice;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;

import org.isobar.device.AttentionShape;
import org.isobar.device.Dropout;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/** Attention: packs keys and values, then shares out blocks to the threads. */
final class CpuAttention {
    private final WorkerPool pool;
    private final Workspace workspace;
    private final Matmuls matmuls;

    CpuAttention(WorkerPool pool, Workspace workspace, Matmuls matmuls) {
        this.pool = pool;
        this.workspace = workspace;
        this.matmuls = matmuls;
    }

    /** Makes room for both halves of attention of the given extents. */
    static void reserve(Workspace workspace, int threads, AttentionShape shape) {
        AttentionBlocks blocks = AttentionBlocks.of(shape);
        workspace.floats(forwardScratch(blocks, threads));
        workspace.floats(backwardScratch(blocks, threads, shape));
    }

    /** Packed keys and values, and a tile of scores for each thread. */
    private static long forwardScratch(AttentionBlocks blocks, int threads) {
        return 2 * blocks.packed() + threads * blocks.scores();
    }

    /** Packed keys, twice, and values; tiles for each thread; a delta for each query of each head. */
    private static long backwardScratch(AttentionBlocks blocks, int threads, AttentionShape shape) {
        return 3 * blocks.packed() + threads * AttentionBackward.scratch(blocks)
            + shape.batch() * shape.heads() * shape.queries();
    }

    void attention(Tensor out, Tensor lse, Tensor q, Tensor kv, AttentionShape shape, Dropout dropout) {
        AttentionBlocks blocks = AttentionBlocks.of(shape);
        long packed = blocks.packed();
        MemorySegment scratch = workspace.floats(forwardScratch(blocks, pool.threads()));
        MemorySegment transposedKeys = slice(scratch, 0, packed);
        MemorySegment values = slice(scratch, packed, 2 * packed);
        AttentionPacking packing = new AttentionPacking(blocks, HostStorage.of(kv));
        pool.run(blocks.heads() * blocks.keyBlocks(), task -> {
            int head = task / blocks.keyBlocks();
            int block = task % blocks.keyBlocks();
            packing.transposedKeys(transposedKeys, head, block);
            packing.values(values, head, block);
        });
        AttentionForward forward = new AttentionForward(blocks, HostStorage.of(out), HostStorage.of(lse),
            HostStorage.of(q), transposedKeys, values, new AttentionDropout(blocks, dropout));
        pool.run(blocks.heads() * blocks.queryBlocks(), (worker, task) ->
            forward.run(task / blocks.queryBlocks(), task % blocks.queryBlocks(),
                share(scratch, 2 * packed, worker, blocks.scores())));
    }

    void attentionBackward(Tensor dq, Tensor dkv, Tensor dOut, Tensor q, Tensor kv, Tensor out, Tensor lse,
        AttentionShape shape, Dropout dropout) {
        AttentionBlocks blocks = AttentionBlocks.of(shape);
        long packed = blocks.packed();
        long each = AttentionBackward.scratch(blocks);
        MemorySegment scratch = workspace.floats(backwardScratch(blocks, pool.threads(), shape));
        MemorySegment keys = slice(scratch, 0, packed);
        MemorySegment transposedKeys = slice(scratch, packed, 2 * packed);
        MemorySegment transposedValues = slice(scratch, 2 * packed, 3 * packed);
        long end = 3 * packed + pool.threads() * each;
        MemorySegment delta = slice(scratch, end, end + lse.elements());
        AttentionPacking packing = new AttentionPacking(blocks, HostStorage.of(kv));
        pool.run(blocks.heads() * blocks.keyBlocks(), task -> {
            int head = task / blocks.keyBlocks();
            int block = task % blocks.keyBlocks();
            packing.keys(keys, head, block);
            packing.transposedKeys(transposedKeys, head, block);
            packing.transposedValues(transposedValues, head, block);
        });
        pool.run(blocks.heads() * blocks.queryBlocks(), task -> deltas(delta, HostStorage.of(dOut), HostStorage.of(out),
            blocks, task / blocks.queryBlocks(), task % blocks.queryBlocks()));
        AttentionBackward backward = new AttentionBackward(blocks, new AttentionBackward.Operands(HostStorage.of(dq),
            HostStorage.of(dkv), HostStorage.of(dOut), HostStorage.of(q), HostStorage.of(lse), delta, keys,
            transposedKeys, transposedValues), new AttentionDropout(blocks, dropout));
        pool.run(backward.tasks(), (worker, task) -> backward.run(task, share(scratch, 3 * packed, worker, each)));
    }

    /** The worker's own part of what begins at element {@code first}. */
    private static MemorySegment share(MemorySegment scratch, long first, int worker, long each) {
        return slice(scratch, first + worker * each, first + (worker + 1) * each);
    }

    /** delta = sum over channels of dOut out, for one block of queries. */
    private static void deltas(MemorySegment delta, MemorySegment dOut, MemorySegment out, AttentionBlocks blocks,
        int head, int queryBlock) {
        long headDim = blocks.shape().headDim();
        for (int row = 0; row < blocks.queriesOf(queryBlock); row++) {
            long query = (long) queryBlock * blocks.querySide() + row;
            long first = blocks.query(head, query);
            delta.setAtIndex(ValueLayout.JAVA_FLOAT, blocks.queryRow(head, query),
                dot(slice(dOut, first, first + headDim), slice(out, first, first + headDim)));
        }
    }

    private static float dot(MemorySegment x, MemorySegment y) {
        FloatVector sum = FloatVector.zero(Lanes.F32);
        int n = Lanes.count(x);
        int i = 0;
        for (; i <= n - WIDTH; i += WIDTH) {
            sum = load(x, i).fma(load(y, i), sum);
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            sum = load(x, i, rest).fma(load(y, i, rest), sum);
        }
        return Lanes.sum(sum);
    }
}
