package org.isobar.backend.cpu;

import java.util.List;

import org.isobar.device.AttentionShape;
import org.isobar.device.Dropout;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** Attention in single precision and in bfloat16. */
final class CpuAttention {
    private final WorkerPool pool;
    private final Workspace workspace;
    private final Matmuls matmuls;

    CpuAttention(WorkerPool pool, Workspace workspace, Matmuls matmuls) {
        this.pool = pool;
        this.workspace = workspace;
        this.matmuls = matmuls;
    }

    /** Makes room for both halves of attention of the given extents, of either type. */
    static void reserve(Workspace workspace, int threads, AttentionShape shape) {
        for (DType dtype : List.of(DType.F32, DType.BF16)) {
            workspace.floats(AttentionForward.space(shape, dtype).floats(threads));
            workspace.floats(AttentionBackward.space(shape, dtype).floats(threads));
        }
    }

    void attention(Tensor out, Tensor lse, Tensor q, Tensor kv, AttentionShape shape, Dropout dropout) {
        long floats = AttentionForward.space(shape, q.dtype()).floats(pool.threads());
        new AttentionForward(matmuls, new AttentionForward.Tensors(out, lse, q, kv), shape, dropout,
            workspace.floats(floats)).run(pool);
    }

    void attentionBackward(Tensor dq, Tensor dkv, Tensor dOut, Tensor q, Tensor kv, Tensor out, Tensor lse,
        AttentionShape shape, Dropout dropout) {
        long floats = AttentionBackward.space(shape, q.dtype()).floats(pool.threads());
        new AttentionBackward(matmuls, new AttentionBackward.Tensors(dq, dkv, dOut, q, kv, out, lse), shape, dropout,
            workspace.floats(floats)).run(pool);
    }
}
