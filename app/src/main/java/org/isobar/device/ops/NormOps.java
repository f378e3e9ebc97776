package org.isobar.device.ops;

import java.util.Optional;

import org.isobar.tensor.Tensor;

/**
 * Layer normalization over the last dimension (Ba, Kiros, Hinton, 2016). {@link TensorOps} explains how shapes and
 * types are written.
 */
public interface NormOps {
    /**
     * {@code y = (x - mean) / sqrt(var + epsilon) * gamma + beta}, with the biased variance.
     *
     * @param y       (M, C), compute type
     * @param mean    (M), F32, written
     * @param invStd  (M), F32, written: 1 / sqrt(var + epsilon)
     * @param x       (M, C), F32
     * @param gamma   (C), F32
     * @param beta    (C), F32
     * @param epsilon not negative
     */
    void layerNorm(Tensor y, Tensor mean, Tensor invStd, Tensor x, Tensor gamma, Tensor beta, double epsilon);

    /**
     * Recomputes the output of {@link #layerNorm} from known statistics.
     *
     * @param y      (M, C), compute type
     * @param x      (M, C), F32
     * @param mean   (M), F32
     * @param invStd (M), F32
     * @param gamma  (C), F32
     * @param beta   (C), F32
     */
    void layerNormRecompute(Tensor y, Tensor x, Tensor mean, Tensor invStd, Tensor gamma, Tensor beta);

    /**
     * Gradients of {@link #layerNorm}: overwrites {@code dx} or adds to it; adds to {@code dGamma} and {@code dBeta}.
     * Recomputes the norm's output in the same pass over memory, if {@code output} is given.
     *
     * @param dx     (M, C), F32
     * @param dGamma (C), F32
     * @param dBeta  (C), F32
     * @param dy     (M, C), compute type
     * @param x      (M, C), F32
     * @param mean   (M), F32
     * @param invStd (M), F32
     * @param gamma  (C), F32
     * @param output (M, C), as dy; may be dy
     */
    void layerNormBackward(Tensor dx, Tensor dGamma, Tensor dBeta, Tensor dy, Tensor x, Tensor mean, Tensor invStd,
        Tensor gamma, WriteMode write, Optional<RecomputedNorm> output);

    /**
     * {@link ResidualOps#residual} and {@link #layerNorm} of its result in one pass over memory: {@code z = x + mask *
     * branch}, {@code y = norm(z)}. {@code z} may be {@code x}.
     *
     * @param y        (B, T, C), as branch
     * @param z        (B, T, C), F32
     * @param mean     (B T), F32, written
     * @param invStd   (B T), F32, written
     * @param x        (B, T, C), F32
     * @param branch   (B, T, C), compute type
     * @param dropPath over (B)
     * @param gamma    (C), F32
     * @param beta     (C), F32
     * @param epsilon  not negative
     */
    void residualLayerNorm(Tensor y, Tensor z, Tensor mean, Tensor invStd, Tensor x, Tensor branch, Dropout dropPath,
        Tensor gamma, Tensor beta, double epsilon);

    /**
     * Gradients of {@link #residualLayerNorm} and of a bias that the branch ends with: {@link #layerNormBackward},
     * {@link ResidualOps#residualBackward} and {@link ProductOps#biasBackward} in one pass over memory. Adds the norm's
     * gradient to {@code dz}, which then is the gradient of x as well, and computes {@code dBranch = mask * dz}. Adds
     * to {@code dGamma}, {@code dBeta} and the gradient of the bias. Recomputes the norm's output in the same pass, if
     * {@code output} is given.
     *
     * @param dz       (B, T, C), F32, added to
     * @param dBranch  (B, T, C), as dy; its mask over (B); its bias (C), F32
     * @param dGamma   (C), F32
     * @param dBeta    (C), F32
     * @param dy       (B, T, C), compute type
     * @param z        (B, T, C), F32
     * @param mean     (B T), F32
     * @param invStd   (B T), F32
     * @param gamma    (C), F32
     * @param output   (B, T, C), as dy; may be dy
     */
    void residualLayerNormBackward(Tensor dz, BiasedGradient dBranch, Tensor dGamma, Tensor dBeta, Tensor dy, Tensor z,
        Tensor mean, Tensor invStd, Tensor gamma, Optional<RecomputedNorm> output);
}
