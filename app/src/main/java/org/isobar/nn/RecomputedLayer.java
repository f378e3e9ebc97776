package org.isobar.nn;

import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * A layer wrapped in full activation checkpointing: it saves nothing and reruns its forward pass just before its
 * backward pass. Its input and output are F32 and have the same shape.
 */
public final class RecomputedLayer implements Layer {
    private final Layer layer;

    /** Wraps {@code layer} so that it holds no memory between forward and backward. */
    public RecomputedLayer(Layer layer) {
        this.layer = layer;
    }

    @Override
    public void forward(Tensor y, Tensor x, Pass pass) {
        pass.forget(() -> layer.forward(y, x, pass));
    }

    @Override
    public void backward(Tensor dx, Tensor dy, Tensor x, Pass pass) {
        pass.again(() -> layer.forward(pass.keep(DType.F32, x.shape().extents()), x, pass),
            () -> layer.backward(dx, dy, x, pass));
    }
}
