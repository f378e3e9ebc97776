package org.isobar.backend.cpu.attention;

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
                Stream.of(AttentionForward.space(shape, dtype), AttentionBackward.space(shape, dtype))))
            .mapToLong(space -> space.floats(threads) * Float.BYTES).max().orElse(0);
    }

    @Override
    public void attention(Tensor out, Tensor lse, Tensor q, Tensor kv, AttentionShape shape, Dropout dropout) {
        long floats = AttentionForward.space(shape, q.dtype()).floats(pool.threads());
        new AttentionForward(matmuls, new AttentionForward.Tensors(out, lse, q, kv), shape, dropout,
            workspace.floats(floats)).run(pool);
    }

    @Override
    public void attentionBackward(Tensor dq, Tensor dkv, Tensor dOut, Tensor q, Tensor kv, Tensor out, Tensor lse,
        AttentionShape shape, Dropout dropout) {
        long floats = AttentionBackward.space(shape, q.dtype()).floats(pool.threads());
        new AttentionBackward(matmuls, new AttentionGradients.Tensors(dq, dkv, dOut, q, kv, out, lse), shape, dropout,
            workspace.floats(floats)).run(pool);
    }
}
