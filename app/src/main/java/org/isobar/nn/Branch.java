package org.isobar.nn;

import java.util.Optional;
import java.util.function.Consumer;

import org.isobar.device.DeviceArena;
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

    /**
     * Whether a backward pass reads the branch's input only after the gradient of the input is complete. It does not if
     * activations are recomputed from the input, or if the gradients that need the input overlap a reduction of its
     * gradient.
     */
    boolean readsInputLast();

    /**
     * Computes {@code dx} and adds to the gradients of all parameters but those of the first layer, with or without
     * that of {@link #lastBias}.
     *
     * @param x       empty only if {@link #readsInputLast}
     * @param scratch for tensors that the rest needs
     * @return the rest, to be called with x: the gradients of the first layer's parameters; then dx is complete. With
     *         {@link #readsInputLast} dx is complete before
     */
    Consumer<Tensor> backward(Tensor dx, Tensor dy, Optional<Tensor> x, LastBias bias, DeviceArena.Scope scratch,
        Pass pass);

    @Override
    default void backward(Tensor dx, Tensor dy, Tensor x, Pass pass) {
        try (DeviceArena.Scope scratch = pass.scratch()) {
            backward(dx, dy, Optional.of(x), LastBias.DIFFERENTIATED, scratch, pass).accept(x);
        }
    }
}
