package org.isobar.nn;

import org.isobar.tensor.Tensor;

/** A differentiable function of one activation. */
public interface Layer {
    /** Computes {@code y = f(x)}. */
    void forward(Tensor y, Tensor x, Pass pass);

    /** Overwrites {@code dx} with {@code f'(x)^T dy} and adds to the gradients of the layer's parameters. */
    void backward(Tensor dx, Tensor dy, Tensor x, Pass pass);
}
