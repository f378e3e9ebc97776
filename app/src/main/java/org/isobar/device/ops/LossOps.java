package org.isobar.device.ops;

import org.isobar.tensor.Tensor;

/** Loss and evaluation score of predictions. {@link TensorOps} explains how shapes and types are written. */
public interface LossOps {
    /**
     * {@code loss = mean over samples of ||prediction - target|| / ||target||}, each norm over all values of a sample
     * and summed in double. The samples may be a part of the M samples of a step: the mean is over those before
     * {@code first}, whose norms are read, and these.
     *
     * @param loss       (1), F64
     * @param norms      (M, 2), F64: norm of the difference and norm of the target; rows {@code first} to
     *                   {@code first + B - 1} are written
     * @param first      index in {@code norms} of the first sample
     * @param prediction (B, C, H, W), F32
     * @param target     (B, C, H, W), F32
     */
    void relativeL2Loss(Tensor loss, Tensor norms, long first, Tensor prediction, Tensor target);

    /**
     * {@code dPrediction = scale / M * (prediction - target) / (||prediction - target|| ||target||)}; zero for a
     * sample whose difference is zero. {@code dPrediction} may be {@code prediction}.
     *
     * @param dPrediction (B, C, H, W), F32
     * @param prediction  (B, C, H, W), F32
     * @param target      (B, C, H, W), F32
     * @param norms       (M, 2), F64: see {@link #relativeL2Loss}
     * @param first       index in {@code norms} of the first sample
     * @param scale       (1), F64: the loss scale
     */
    void relativeL2LossBackward(Tensor dPrediction, Tensor prediction, Tensor target, Tensor norms, long first,
        Tensor scale);

    /**
     * Root-mean-square error of each channel, averaged over the samples:
     * {@code sqrt(mean over rows j and columns of w(j) (prediction - target)^2)} with the
     * {@link org.isobar.device.LatitudeWeights} w. The weights of the poles are slightly negative; the result is NaN
     * if the error is confined to the poles, where the weighted sum is negative.
     *
     * @param rmse       (C), F64
     * @param prediction (B, C, H, W), F32
     * @param target     (B, C, H, W), F32
     */
    void weightedRmse(Tensor rmse, Tensor prediction, Tensor target);
}
