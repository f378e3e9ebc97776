package org.isobar.nn;

import java.util.Optional;

import org.isobar.tensor.Tensor;

/** A branch of a residual block, (B, T, C). Its last layer is linear and has a bias. */
interface Branch extends Layer {
    /** Whether a backward pass adds to the gradient of the last layer's bias. */
    enum LastBias { DIFFERENTIATED, LEFT_OUT }

    /**
     * The last layer's bias if nothing is dropped after it: its gradient is then the sum of the branch's gradient over
     * tokens, which the operation that computes this gradient can add.
     */
    Optional<Parameter> lastBias(Pass pass);

    /** Like {@link Layer#backward}, with or without the gradient of {@link #lastBias}. */
    void backward(Tensor dx, Tensor dy, Tensor x, LastBias bias, Pass pass);

    @Override
    default void backward(Tensor dx, Tensor dy, Tensor x, Pass pass) {
        backward(dx, dy, x, LastBias.DIFFERENTIATED, pass);
    }
}
