package org.isobar.device;

import org.isobar.tensor.Tensor;

/**
 * The operations that a model is made of. Outputs come first; shapes stand behind each parameter. Tensors are single
 * precision unless another type is named, and do not overlap unless it is said that they may. Operations take effect
 * in the order in which they are issued.
 *
 * <p>Gradients of activations overwrite or add as told by {@link Write}; gradients of parameters always add.
 *
 * <p>Sums are partitioned by tensor shape alone, so that bits do not depend on the number of threads.
 */
public interface TensorOps {

    // ---- memory ----

    /** Sets every element of {@code y} (any shape, F32 or F64) to {@code value}. */
    void fill(Tensor y, double value);

    /** {@code y = x}; same type and number of elements. */
    void copy(Tensor y, Tensor x);

    /**
     * {@code y[j, i, :] = x[i, j, :]}: the two outer dimensions exchanged.
     *
     * @param y (C, R, K)
     * @param x (R, C, K)
     */
    void transposeOuter(Tensor y, Tensor x);

    // ---- products; leading dimensions are folded into rows: M = product of all but the last extent ----

    /**
     * {@code y = x W^T}, then the epilogue.
     *
     * @param y      (M, N)
     * @param x      (M, K)
     * @param weight (N, K), as PyTorch stores it
     */
    void linear(Tensor y, Tensor x, Tensor weight, Epilogue epilogue);

    /**
     * {@code dx = dy W}, overwriting or adding.
     *
     * @param dx     (M, K)
     * @param dy     (M, N)
     * @param weight (N, K)
     */
    void linearBackwardInput(Tensor dx, Tensor dy, Tensor weight, Write write);

    /**
     * {@code dW += dy^T x}.
     *
     * @param dWeight (N, K)
     * @param dy      (M, N)
     * @param x       (M, K)
     */
    void linearBackwardWeight(Tensor dWeight, Tensor dy, Tensor x);

    /**
     * {@code db += sum over rows of dy}.
     *
     * @param dBias (N)
     * @param dy    (M, N)
     */
    void biasBackward(Tensor dBias, Tensor dy);

    // ---- layer normalization over the last dimension ----

    /**
     * {@code y = (x - mean) / sqrt(var + epsilon) * gamma + beta}, with the biased variance.
     *
     * @param y       (M, C)
     * @param mean    (M), written
     * @param invStd  (M), written: 1 / sqrt(var + epsilon)
     * @param x       (M, C)
     * @param gamma   (C)
     * @param beta    (C)
     */
    void layerNorm(Tensor y, Tensor mean, Tensor invStd, Tensor x, Tensor gamma, Tensor beta, double epsilon);

    /** {@link #layerNorm} again from statistics that are known. */
    void layerNormRecompute(Tensor y, Tensor x, Tensor mean, Tensor invStd, Tensor gamma, Tensor beta);

    /**
     * Gradients of {@link #layerNorm}: {@code dx} overwritten or added to; {@code dGamma} and {@code dBeta} added to.
     *
     * @param dx     (M, C)
     * @param dGamma (C)
     * @param dBeta  (C)
     * @param dy     (M, C)
     */
    void layerNormBackward(Tensor dx, Tensor dGamma, Tensor dBeta, Tensor dy, Tensor x, Tensor mean, Tensor invStd,
        Tensor gamma, Write write);

    // ---- activation ----

    /** {@code y = GELU(x) = x/2 (1 + erf(x / sqrt 2))}, the exact form; {@code y} may be {@code x}. */
    void gelu(Tensor y, Tensor x);

    /** {@code dx = dy GELU'(x)} and, in the same pass, {@code y = GELU(x)}; {@code dx} may be {@code dy}. */
    void geluBackward(Tensor dx, Tensor y, Tensor dy, Tensor x);

    // ---- attention; never a Tq x Tk matrix in memory ----

    /**
     * {@code out = dropout(softmax(q k^T / sqrt D)) v} for each sample and head.
     *
     * @param out     (B, Tq, H, D)
     * @param lse     (B, H, Tq), written: log of the sum of exponentials of the scaled scores
     * @param q       (B, Tq, H, D)
     * @param kv      (B, Tk, 2, H, D): keys, then values, of each token
     * @param dropout over (B, H, Tq, Tk)
     */
    void attention(Tensor out, Tensor lse, Tensor q, Tensor kv, AttentionShape shape, Dropout dropout);

    /**
     * Gradients of {@link #attention}; both overwrite.
     *
     * @param dq   (B, Tq, H, D)
     * @param dkv  (B, Tk, 2, H, D)
     * @param dOut (B, Tq, H, D)
     */
    void attentionBackward(Tensor dq, Tensor dkv, Tensor dOut, Tensor q, Tensor kv, Tensor out, Tensor lse,
        AttentionShape shape, Dropout dropout);

    // ---- images and tokens ----

    /**
     * Cuts images into tokens.
     *
     * @param tokens (B, T, C*P*P), values in the order that {@code shape} names
     * @param image  (B, C, H, W)
     */
    void patchify(Tensor tokens, Tensor image, PatchShape shape);

    /** Puts tokens together into images: the inverse, and the adjoint, of {@link #patchify}. */
    void unpatchify(Tensor image, Tensor tokens, PatchShape shape);

    /**
     * {@code y = x + positions}, the same for each sample; {@code y} may be {@code x}.
     *
     * @param y         (B, T, C)
     * @param x         (B, T, C)
     * @param positions (T, C)
     */
    void addPositions(Tensor y, Tensor x, Tensor positions);

    /**
     * {@code dPositions += sum over samples of dy}.
     *
     * @param dPositions (T, C)
     * @param dy         (B, T, C)
     */
    void addPositionsBackward(Tensor dPositions, Tensor dy);

    // ---- residual stream and random masks ----

    /**
     * {@code y = x + mask * branch}, with one mask value for a sample (drop-path, stochastic depth); {@code y} may be
     * {@code x} or {@code branch}.
     *
     * @param y        (B, T, C)
     * @param dropPath over (B)
     */
    void residual(Tensor y, Tensor x, Tensor branch, Dropout dropPath);

    /** {@code dBranch = mask * dy}: what reaches the branch of {@link #residual}; may be in place. */
    void residualBackward(Tensor dBranch, Tensor dy, Dropout dropPath);

    /**
     * {@code y = mask * x}; its own adjoint; {@code y} may be {@code x}.
     *
     * @param y       (B, T, C)
     * @param dropout over (B, T, C)
     */
    void dropout(Tensor y, Tensor x, Dropout dropout);

    // ---- loss, score, update ----

    /**
     * {@code loss = mean over samples of ||prediction - target|| / ||target||}, each norm over all of a sample's
     * values, summed in double.
     *
     * @param loss       (1), F64
     * @param norms      (B, 2), F64: norm of the difference and of the target
     * @param prediction (B, C, H, W)
     * @param target     (B, C, H, W)
     */
    void relativeL2Loss(Tensor loss, Tensor norms, Tensor prediction, Tensor target);

    /**
     * {@code dPrediction = scale / B * (prediction - target) / (||prediction - target|| ||target||)}; zero for a
     * sample whose difference is zero. May overwrite {@code prediction}.
     *
     * @param scale (1): the loss scale
     */
    void relativeL2LossBackward(Tensor dPrediction, Tensor prediction, Tensor target, Tensor norms, Tensor scale);

    /**
     * Root-mean-square error of each channel, averaged over the samples:
     * {@code sqrt(mean over rows j and columns of w(j) (prediction - target)^2)} with the {@link LatitudeWeights} w.
     * NaN where the poles' slightly negative weights outweigh an error that lies at the poles alone.
     *
     * @param rmse       (C), F64
     * @param prediction (B, C, H, W)
     * @param target     (B, C, H, W)
     */
    void weightedRmse(Tensor rmse, Tensor prediction, Tensor target);

    /**
     * One step of Adam without weight decay over flat ranges (Kingma and Ba, 2015), as PyTorch computes it:
     * {@code m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; p -= lr/(1-b1^t) * m / (sqrt(v)/sqrt(1-b2^t) + epsilon)}.
     *
     * @param parameter (n)
     * @param gradient  (n)
     * @param moment1   (n)
     * @param moment2   (n)
     * @param control   (2), F64: the learning rate and the number t of this step, from 1
     */
    void adam(Tensor parameter, Tensor gradient, Tensor moment1, Tensor moment2, Tensor control,
        AdamConstants constants);
}
