package org.isobar.model;

import org.isobar.device.ops.TensorOps;
import org.isobar.tensor.Tensor;

/**
 * The tutorial's loss: the mean over the batch of ||prediction - target|| / ||target||, each norm over all values of a
 * sample. The terms of a sample are these two norms.
 */
public record RelativeL2Loss() implements Loss {
    @Override
    public void forward(Tensor loss, Tensor terms, long first, Tensor prediction, Tensor target, TensorOps ops) {
        ops.losses().relativeL2Loss(loss, terms, first, prediction, target);
    }

    @Override
    public void backward(Tensor dPrediction, Tensor prediction, Tensor target, Tensor terms, long first,
        Tensor scale, TensorOps ops) {
        ops.losses().relativeL2LossBackward(dPrediction, prediction, target, terms, first, scale);
    }
}
