package org.isobar.model;

import org.isobar.nn.Pass;
import org.isobar.tensor.Tensor;

/**
 * One rank's part of a network that maps weather fields to predicted weather fields, and its training loss. Its
 * parameters are declared in a {@link org.isobar.nn.ParameterStore} when it is created.
 *
 * <p>{@link Object#toString} returns the module tree in PyTorch's format, for the log.
 */
public interface Model {
    /** Computes {@code prediction} (B, Cout, H, W), F32, from {@code input} (B, Cin, H, W), F32. */
    void forward(Tensor prediction, Tensor input, Pass pass);

    /**
     * Accumulates the gradients of all parameters and notifies {@code pass} when each is complete on this rank. Pops
     * the activations that forward has pushed to {@code pass}.
     *
     * @param dPrediction gradient of the loss with respect to the prediction, (B, Cout, H, W), F32
     * @param input       the input of the forward pass, (B, Cin, H, W); its own gradient is not computed
     */
    void backward(Tensor dPrediction, Tensor input, Pass pass);

    /** The training loss of this model. */
    Loss loss();
}
