package org.isobar.nn;

import java.util.Optional;
import java.util.function.Consumer;

import org.isobar.device.DeviceArena;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.IndexSpan;
import org.isobar.device.ops.WriteMode;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Multi-head self-attention (Vaswani et al., 2017): {@code y = proj(softmax(q k^T / sqrt D) v)} with
 * {@code q, k, v} biased linear functions of x.
 *
 * <p>Tensor parallelism shards the heads: q, k and v are column-parallel, proj is row-parallel. Context parallelism
 * shards the queries. In forward each rank all-gathers the keys and values in one collective, which overlaps the
 * computation of the queries. In backward their gradients are reduce-scattered, which overlaps the gradients of proj's
 * weight and of the queries' input. One all-reduce over tp sums the input gradients of q, k and v. It overlaps the
 * gradients of their weights.
 *
 * <p>Saved for backward: q, kv, the attention output and its log-sum-exp, but no T x T matrix.
 */
public final class SelfAttention implements Branch {
    private final Layout layout;
    private final String name;
    private final long heads;
    private final double dropout;
    private final ColumnParallelLinear query;
    private final ColumnParallelLinear keyValue;
    private final RowParallelLinear projection;
    private final DropoutLayer projectionDropout;

    private record Kept(Tensor q, Tensor kv, Tensor out, Tensor lse) { }

    /** Declares {@code q}, {@code k}, {@code v} and {@code proj} at {@code here}. */
    public SelfAttention(ParameterScope here, long channels, long heads, double dropout) {
        layout = here.layout();
        this.name = here.name("dropout");
        this.heads = heads;
        this.dropout = dropout;
        query = new ColumnParallelLinear(here, channels, channels, "q");
        keyValue = new ColumnParallelLinear(here, channels, channels, "k", "v");
        projection = new RowParallelLinear(here.child("proj"), channels, channels);
        projectionDropout = new DropoutLayer(here.name("proj.dropout"), dropout, layout.sequence().span(),
            IndexSpan.whole(channels));
    }

    @Override
    public void forward(Tensor y, Tensor x, Pass pass) {
        AttentionShape shape = shape(x);
        Tensor q = pass.keep(pass.compute(), shape.batch(), shape.queries(), shape.heads(), shape.headDim());
        Tensor kv = pass.keep(pass.compute(), shape.batch(), shape.keys(), 2, shape.heads(), shape.headDim());
        Tensor out = pass.keep(pass.compute(), q.shape().extents());
        Tensor lse = pass.keep(DType.F32, shape.batch(), shape.heads(), shape.queries());
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Sequence.Gather gather = layout.sequence().gather(tokens(kv),
                part -> keyValue.forward(part, x, pass), scratch, pass.ops());
            query.forward(tokens(q), x, pass);
            gather.await();
        }
        pass.ops().attention().attention(out, lse, q, kv, shape, mask(shape, pass));
        projection.forward(y, tokens(out), pass);
        projectionDropout.apply(y, pass);
        pass.push(this, new Kept(q, kv, out, lse));
    }

    @Override
    public Optional<Parameter> lastBias(Pass pass) {
        return Optional.of(projection.bias()).filter(_ -> projectionDropout.isNone(pass));
    }

    @Override
    public boolean readsInputLast() {
        return layout.tensor().group().size() == 1;
    }

    @Override
    public Consumer<Tensor> backward(Tensor dx, Tensor dy, Optional<Tensor> x, LastBias bias,
        DeviceArena.Scope scratch, Pass pass) {
        Kept kept = pass.pop(this, Kept.class);
        AttentionShape shape = shape(dy);
        Tensor dq = scratch.allocate(pass.compute(), kept.q().shape().extents());
        Tensor dkv = scratch.allocate(pass.compute(), kept.kv().shape().extents());
        Tensor dOut = scratch.allocate(pass.compute(), kept.out().shape().extents());
        Tensor dProjection = projectionDropout.backward(dy, scratch, pass);
        projection.backwardInput(tokens(dOut), dProjection, WriteMode.OVERWRITE, pass);
        pass.ops().attention().attentionBackward(dq, dkv, dOut, kept.q(), kept.kv(), kept.out(), kept.lse(), shape,
            mask(shape, pass));
        Sequence.ReduceScatter scatter = layout.sequence().reduceScatter(tokens(dkv), scratch, pass.ops());
        projection.backwardParameters(dProjection, tokens(kept.out()), bias, pass);
        query.backwardInput(dx, tokens(dq), WriteMode.OVERWRITE, pass);
        Tensor dkvHere = scatter.await();
        keyValue.backwardInput(dx, dkvHere, WriteMode.ADD, pass);
        Work sum = layout.tensor().allReduce(dx, Reduction.SUM);
        return input -> {
            query.backwardParameters(tokens(dq), input, pass);
            keyValue.backwardParameters(dkvHere, input, pass);
            sum.await();
        };
    }

    private AttentionShape shape(Tensor x) { // (B, Tl, C)
        return new AttentionShape(x.shape().extent(0), x.shape().extent(1), layout.sequence().tokens(),
            layout.share(heads), x.shape().extent(2) / heads);
    }

    private Dropout mask(AttentionShape shape, Pass pass) {
        return pass.mask(name, dropout, layout.span(heads), layout.sequence().span(), IndexSpan.whole(shape.keys()));
    }

    /** Reshapes the tensor to (B, tokens, all other extents). */
    private static Tensor tokens(Tensor tensor) {
        long batch = tensor.shape().extent(0);
        long tokens = tensor.shape().extent(1);
        return tensor.reshape(batch, tokens, tensor.elements() / (batch * tokens));
    }
}
