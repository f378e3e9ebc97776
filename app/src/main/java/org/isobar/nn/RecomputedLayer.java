package org.isobar.nn;

import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * A layer that keeps nothing: its forward pass is run again just before its backward pass. Its input and output are of
 * one shape, in single precision.
 */
public final class RecomputedLayer implements Layer {
    private final Layer layer;

    /** As {@code layer}, but without memory between forward and backward. */
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
