package org.isobar.nn;

import java.util.Optional;
import java.util.function.Consumer;

import org.isobar.device.DeviceArena;
import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.IndexSpan;
import org.isobar.device.ops.WriteMode;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.tensor.Tensor;

/**
 * Two linear layers with an exact GELU between them: {@code y = fc2(GELU(fc1(x)))}, with dropout after the GELU and
 * after fc2.
 *
 * <p>Tensor parallelism shards the hidden units: fc1 is column-parallel, fc2 row-parallel. The gradient of the input is
 * all-reduced over tp while the gradients of both weights are computed.
 *
 * <p>Saved for backward: the pre-activation (fc1's output), unless it is recomputed. Backward recomputes the GELU in
 * the same pass over memory as its derivative and the gradient of fc1's bias. The GELU overwrites the pre-activation.
 */
public final class Mlp implements Branch {
    private final Layout layout;
    private final long hidden;
    private final ColumnParallelLinear fc1;
    private final RowParallelLinear fc2;
    private final DropoutLayer hiddenDropout;
    private final DropoutLayer outputDropout;
    private final Recompute recompute;

    private record Kept(Tensor preActivation) { }

    /** Declares {@code fc1} and {@code fc2} at {@code here}. */
    public Mlp(ParameterScope here, long channels, long hidden, double dropout, Recompute recompute) {
        layout = here.layout();
        this.recompute = recompute;
        this.hidden = layout.share(hidden);
        fc1 = new ColumnParallelLinear(here.child("fc1"), channels, hidden);
        fc2 = new RowParallelLinear(here.child("fc2"), hidden, channels);
        hiddenDropout = new DropoutLayer(here.name("fc1.dropout"), dropout, layout.sequence().span(),
            layout.span(hidden));
        outputDropout = new DropoutLayer(here.name("fc2.dropout"), dropout, layout.sequence().span(),
            IndexSpan.whole(channels));
    }

    @Override
    public void forward(Tensor y, Tensor x, Pass pass) {
        try (DeviceArena.Scope scratch = pass.scratch()) {
            Tensor preActivation = room(x, scratch, pass);
            Tensor h = scratch.allocate(pass.compute(), extents(x));
            fc1.multiply(h, x, new Epilogue.BiasGelu(fc1.bias().compute(), preActivation), pass);
            fc1.report(preActivation, pass);
            hiddenDropout.apply(h, pass);
            fc2.forward(y, h, pass);
            outputDropout.apply(y, pass);
        }
    }

    @Override
    public Optional<Parameter> lastBias(Pass pass) {
        return Optional.of(fc2.bias()).filter(_ -> outputDropout.isNone(pass));
    }

    @Override
    public boolean readsInputLast() {
        return recompute != Recompute.MLP && layout.tensor().group().size() == 1;
    }

    @Override
    public Consumer<Tensor> backward(Tensor dx, Tensor dy, Optional<Tensor> x, LastBias bias,
        DeviceArena.Scope scratch, Pass pass) {
        Tensor preActivation = preActivation(x, scratch, pass);
        Tensor dFc2 = outputDropout.backward(dy, scratch, pass);
        Tensor dh = scratch.allocate(pass.compute(), extents(dy));
        fc2.backwardInput(dh, dFc2, WriteMode.OVERWRITE, pass);
        hiddenDropout.apply(dh, pass);
        Tensor h = preActivation;
        pass.ops().products().biasGeluBackward(dh, h, fc1.bias().gradient(), dh, preActivation);
        pass.complete(fc1.bias());
        // h has overwritten the pre-activation, and dh is now the gradient of the pre-activation.
        hiddenDropout.apply(h, pass);
        fc1.backwardInput(dx, dh, WriteMode.OVERWRITE, pass);
        Work sum = layout.tensor().allReduce(dx, Reduction.SUM);
        fc2.backwardParameters(dFc2, h, bias, pass);
        return input -> {
            fc1.backwardWeight(dh, input, pass);
            sum.await();
        };
    }

    /** Allocates fc1's pre-activation in forward: scratch if it is recomputed, otherwise kept. */
    private Tensor room(Tensor x, DeviceArena.Scope scratch, Pass pass) {
        if (recompute == Recompute.MLP) {
            return scratch.allocate(pass.compute(), extents(x));
        }
        Tensor kept = pass.keep(pass.compute(), extents(x));
        pass.push(this, new Kept(kept));
        return kept;
    }

    /** Returns fc1's pre-activation in backward, saved or recomputed. */
    private Tensor preActivation(Optional<Tensor> x, DeviceArena.Scope scratch, Pass pass) {
        if (recompute != Recompute.MLP) {
            return pass.pop(this, Kept.class).preActivation();
        }
        Tensor input = x.orElseThrow();
        Tensor again = scratch.allocate(pass.compute(), extents(input));
        fc1.multiply(again, input, new Epilogue.Bias(fc1.bias().compute()), pass);
        return again;
    }

    private long[] extents(Tensor x) { // (B, Tl, hidden units of this rank)
        return new long[] {x.shape().extent(0), x.shape().extent(1), hidden};
    }
}
