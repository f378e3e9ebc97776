package org.isobar.nn;

import org.isobar.device.Arena;
import org.isobar.device.AttentionShape;
import org.isobar.device.Dropout;
import org.isobar.device.Span;
import org.isobar.device.Write;
import org.isobar.tensor.Tensor;

/**
 * Multi-head self-attention (Vaswani et al., 2017): {@code y = proj(softmax(q k^T / sqrt D) v)} with
 * {@code q, k, v} biased linear functions of x.
 *
 * <p>Keys and values are one product; queries are another, so that keys and values can be on their way to other ranks
 * while the queries are computed. Kept: q, kv, the attention's output and its log-sum-exp; never a T x T matrix.
 */
public final class SelfAttention implements Layer {
    private final String name;
    private final long heads;
    private final double dropout;
    private final Linear query;
    private final Linear keyValue;
    private final Linear projection;
    private final DropoutLayer projectionDropout;

    private record Kept(Tensor q, Tensor kv, Tensor out, Tensor lse) { }

    /** Declares {@code q}, {@code k}, {@code v} and {@code proj} at {@code here}. */
    public SelfAttention(Scoped here, long channels, long heads, double dropout) {
        this.name = here.name("dropout");
        this.heads = heads;
        this.dropout = dropout;
        query = new Linear(here.child("q"), channels, channels, Linear.Bias.ZERO_INITIALIZED);
        keyValue = Linear.stacked(here, channels, channels, "k", "v");
        projection = new Linear(here.child("proj"), channels, channels, Linear.Bias.ZERO_INITIALIZED);
        projectionDropout = new DropoutLayer(here.name("proj.dropout"), dropout);
    }

    @Override
    public void forward(Tensor y, Tensor x, Pass pass) {
        AttentionShape shape = shape(x);
        Tensor q = pass.keep(shape.batch(), shape.queries(), heads, shape.headDim());
        Tensor kv = pass.keep(shape.batch(), shape.keys(), 2, heads, shape.headDim());
        Tensor out = pass.keep(shape.batch(), shape.queries(), heads, shape.headDim());
        Tensor lse = pass.keep(shape.batch(), heads, shape.queries());
        keyValue.forward(rows(kv, x), x, pass);
        query.forward(rows(q, x), x, pass);
        pass.ops().attention(out, lse, q, kv, shape, mask(shape, pass));
        projection.forward(y, rows(out, x), pass);
        projectionDropout.apply(y, pass);
        pass.push(this, new Kept(q, kv, out, lse));
    }

    @Override
    public void backward(Tensor dx, Tensor dy, Tensor x, Pass pass) {
        Kept kept = pass.pop(this, Kept.class);
        AttentionShape shape = shape(x);
        try (Arena.Scope scratch = pass.scratch()) {
            Tensor dq = scratch.f32(kept.q().shape().extents());
            Tensor dkv = scratch.f32(kept.kv().shape().extents());
            Tensor dOut = scratch.f32(kept.out().shape().extents());
            Tensor dProjection = projectionDropout.backward(dy, scratch, pass);
            projection.backward(rows(dOut, x), dProjection, rows(kept.out(), x), pass);
            pass.ops().attentionBackward(dq, dkv, dOut, kept.q(), kept.kv(), kept.out(), kept.lse(), shape,
                mask(shape, pass));
            query.backwardWeight(rows(dq, x), x, pass);
            keyValue.backwardWeight(rows(dkv, x), x, pass);
            query.backwardInput(dx, rows(dq, x), Write.OVERWRITE, pass);
            keyValue.backwardInput(dx, rows(dkv, x), Write.ADD, pass);
        }
    }

    private AttentionShape shape(Tensor x) { // (B, T, C)
        long tokens = x.shape().extent(1);
        return new AttentionShape(x.shape().extent(0), tokens, tokens, heads, x.shape().extent(2) / heads);
    }

    private Dropout mask(AttentionShape shape, Pass pass) {
        return pass.mask(name, dropout, Span.whole(heads), Span.whole(shape.queries()), Span.whole(shape.keys()));
    }

    /** The tensor with everything behind the token dimension of {@code x} folded into one row. */
    private static Tensor rows(Tensor tensor, Tensor x) {
        long batch = x.shape().extent(0);
        long tokens = x.shape().extent(1);
        return tensor.reshape(batch, tokens, tensor.elements() / (batch * tokens));
    }
}
