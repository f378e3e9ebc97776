package org.isobar.nn;

import org.isobar.tensor.Tensor;

/** A differentiable function of one activation. */
public interface Layer {
    /** {@code y = f(x)}. */
    void forward(Tensor y, Tensor x, Pass pass);

    /** {@code dx = f'(x)^T dy}, overwriting; gradients of the layer's parameters are added to. */
    void backward(Tensor dx, Tensor dy, Tensor x, Pass pass);
}
