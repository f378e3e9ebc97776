package org.isobar.backend.cpu.attention;

import java.lang.foreign.MemorySegment;
import java.util.stream.Stream;

import org.isobar.backend.cpu.onednn.MatmulCache;
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.device.Footprint;
import org.isobar.device.ops.AttentionOps;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** Attention in single precision and in bfloat16, forward and backward. */
public final class CpuAttention implements AttentionOps {
    private final WorkerPool pool;
    private final CpuWorkspace workspace;
    private final MatmulCache matmuls;

    /** Creates attention operations that run on the threads of {@code pool}. */
    public CpuAttention(WorkerPool pool, CpuWorkspace workspace, MatmulCache matmuls) {
        this.pool = pool;
        this.workspace = workspace;
        this.matmuls = matmuls;
    }

    /** Bytes for the larger of all cases, forward and backward, F32 and BF16: a footprint does not contain the type. */
    public static long workspaceBytes(Footprint footprint, int threads) {
        return footprint.attention().stream().flatMap(shape -> Stream.of(DType.F32, DType.BF16).flatMap(dtype ->
                spaces(shape, dtype)))
            .mapToLong(space -> space.floats(threads) * Float.BYTES).max().orElse(0);
    }

    private static Stream<AttentionScratch> spaces(AttentionShape shape, DType dtype) {
        Stream<AttentionScratch> blocks =
            Stream.of(AttentionForward.space(shape, dtype), AttentionBackward.space(shape, dtype));
        return HeadGroups.suit(shape, Dropout.NONE)
            ? Stream.concat(blocks, Stream.of(ShortForward.space(shape, dtype), ShortBackward.space(shape, dtype)))
            : blocks;
    }

    @Override
    public void attention(Tensor out, Tensor lse, Tensor q, Tensor kv, AttentionShape shape, Dropout dropout) {
        AttentionForward.Tensors tensors = new AttentionForward.Tensors(out, lse, q, kv);
        if (HeadGroups.suit(shape, dropout)) {
            new ShortForward(matmuls, tensors, shape, memory(ShortForward.space(shape, q.dtype()))).run(pool);
        } else {
            new AttentionForward(matmuls, tensors, shape, dropout, memory(AttentionForward.space(shape, q.dtype())))
                .run(pool);
        }
    }

    @Override
    public void attentionBackward(Tensor dq, Tensor dkv, Tensor dOut, Tensor q, Tensor kv, Tensor out, Tensor lse,
        AttentionShape shape, Dropout dropout) {
        AttentionGradients.Tensors tensors = new AttentionGradients.Tensors(dq, dkv, dOut, q, kv, out, lse);
        if (HeadGroups.suit(shape, dropout)) {
            new ShortBackward(matmuls, tensors, shape, memory(ShortBackward.space(shape, q.dtype()))).run(pool);
        } else {
            new AttentionBackward(matmuls, tensors, shape, dropout, memory(AttentionBackward.space(shape, q.dtype())))
                .run(pool);
        }
    }

    private MemorySegment memory(AttentionScratch space) {
        return workspace.floats(space.floats(pool.threads()));
    }
}
