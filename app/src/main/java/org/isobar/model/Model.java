package org.isobar.model;

import org.isobar.nn.Pass;
import org.isobar.tensor.Tensor;

/**
 * One rank's part of a network that predicts images of weather from images of weather, and the loss that it is trained
 * with. Its parameters were declared in a {@link org.isobar.nn.ParameterStore} when it was made.
 *
 * <p>{@link Object#toString} gives the tree of its modules as PyTorch prints it, for the log.
 */
public interface Model {
    /** Computes {@code prediction} (B, Cout, H, W), F32, from {@code input} (B, Cin, H, W), F32. */
    void forward(Tensor prediction, Tensor input, Pass pass);

    /**
     * Adds to the gradients of all parameters and tells {@code pass} when each is complete on this rank. Takes from
     * {@code pass} what forward has pushed.
     *
     * @param dPrediction gradient of the loss with respect to the prediction, (B, Cout, H, W), F32
     * @param input       the input of the forward pass, (B, Cin, H, W); its own gradient is not computed
     */
    void backward(Tensor dPrediction, Tensor input, Pass pass);

    /** The loss that this model is trained with. */
    Loss loss();
}
