package org.isobar.device.checks;

import static org.isobar.device.checks.OperandChecks.COMPUTE;
import static org.isobar.device.checks.OperandChecks.Extents.exactly;
import static org.isobar.tensor.DType.F32;

import org.isobar.device.checks.OperandChecks.Extents;
import org.isobar.device.ops.AttentionOps;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.tensor.Tensor;

/** Checks the arguments of {@link AttentionOps}. */
record CheckedAttention(AttentionOps ops) implements AttentionOps {
    @Override
    public void attention(Tensor out, Tensor lse, Tensor q, Tensor kv, AttentionShape shape, Dropout dropout) {
        new OperandChecks("attention")
            .output("out", out, q.dtype(), queries(shape))
            .output("lse", lse, F32, scores(shape))
            .input("q", q, COMPUTE, queries(shape))
            .input("kv", kv, q.dtype(), keys(shape))
            .mask("dropout", dropout, shape.batch(), shape.heads(), shape.queries(), shape.keys())
            .check();
        ops.attention(out, lse, q, kv, shape, dropout);
    }

    @Override
    public void attentionBackward(Tensor dq, Tensor dkv, Tensor dOut, Tensor q, Tensor kv, Tensor out, Tensor lse,
        AttentionShape shape, Dropout dropout) {
        new OperandChecks("attentionBackward")
            .output("dq", dq, q.dtype(), queries(shape))
            .output("dkv", dkv, q.dtype(), keys(shape))
            .input("dOut", dOut, q.dtype(), queries(shape))
            .input("q", q, COMPUTE, queries(shape))
            .input("kv", kv, q.dtype(), keys(shape))
            .input("out", out, q.dtype(), queries(shape))
            .input("lse", lse, F32, scores(shape))
            .mask("dropout", dropout, shape.batch(), shape.heads(), shape.queries(), shape.keys())
            .check();
        ops.attentionBackward(dq, dkv, dOut, q, kv, out, lse, shape, dropout);
    }

    private static Extents queries(AttentionShape shape) {
        return exactly(shape.batch(), shape.queries(), shape.heads(), shape.headDim());
    }

    private static Extents keys(AttentionShape shape) {
        return exactly(shape.batch(), shape.keys(), 2, shape.heads(), shape.headDim());
    }

    private static Extents scores(AttentionShape shape) {
        return exactly(shape.batch(), shape.heads(), shape.queries());
    }
}
