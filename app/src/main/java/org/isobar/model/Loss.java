package org.isobar.model;

import org.isobar.device.ops.TensorOps;
import org.isobar.tensor.Tensor;

/**
 * A loss that is the mean over the samples of one ratio per sample. The M samples of a step may be computed in several
 * batches of B samples. Its methods allocate no memory.
 */
public interface Loss {
    /**
     * Computes the loss of a batch and of the batches before it.
     *
     * @param loss       (1), F64: receives the mean over the samples up to the last of this batch
     * @param terms      (M, 2), F64: receives the numerator and the denominator of each sample's ratio
     * @param first      index in {@code terms} of the first sample of the batch
     * @param prediction (B, C, H, W), F32
     * @param target     (B, C, H, W), F32
     */
    void forward(Tensor loss, Tensor terms, long first, Tensor prediction, Tensor target, TensorOps ops);

    /**
     * Computes the gradient of the loss of all M samples with respect to the prediction, times {@code scale}.
     *
     * @param dPrediction (B, C, H, W), F32: receives the gradient; may be {@code prediction} itself
     * @param terms       (M, 2), F64: the terms that {@link #forward} computed
     * @param first       index in {@code terms} of the first sample of the batch
     * @param scale       (1), F64: the loss scale
     */
    void backward(Tensor dPrediction, Tensor prediction, Tensor target, Tensor terms, long first, Tensor scale,
        TensorOps ops);
}
