package org.isobar.device.ops;

import org.isobar.tensor.Tensor;

/**
 * Optimizer operations on flat ranges of parameters. {@link TensorOps} explains how shapes and types are written.
 */
public interface UpdateOps {
    /**
     * {@code gradient *= 1 / (scale divisor)}, a factor that is rounded to F32. Then sets {@code overflow} to 1 if an
     * element is not finite; otherwise leaves it unchanged.
     *
     * @param gradient (n), F32
     * @param overflow (1), F64
     * @param scale    (1), F64: the loss scale
     * @param divisor  what the gradient is divided by besides
     */
    void unscale(Tensor gradient, Tensor overflow, Tensor scale, double divisor);

    /**
     * Decides from the overflow flag and the loss whether this step updates the weights, and adjusts the loss scale:
     * see {@link StepControl}.
     *
     * @param control (7), F64: a {@link StepControl}
     * @param loss    (1), F64: loss of the step, equal on all ranks
     */
    void advance(Tensor control, Tensor loss, LossScaling scaling);

    /**
     * One step of Adam without weight decay over flat ranges (Kingma and Ba, 2015), as PyTorch computes it:
     * {@code m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; p -= lr/(1-b1^t) * m / (sqrt(v)/sqrt(1-b2^t) + epsilon)} with
     * {@code g = gradient / divisor}. Updates nothing if the step overflowed.
     *
     * @param parameter (n), F32
     * @param copy      (n), compute type, written: the parameters in the compute type; {@code parameter} itself if that
     *                  type is F32
     * @param gradient  (n), F32
     * @param moment1   (n), F32
     * @param moment2   (n), F32
     * @param control   (7), F64: a {@link StepControl}
     */
    void adam(Tensor parameter, Tensor copy, Tensor gradient, Tensor moment1, Tensor moment2, Tensor control,
        AdamConstants constants);
}
