package org.isobar.device.ops;

import org.isobar.tensor.Tensor;

/**
 * The operations that a model is made of. Outputs come first; shapes stand behind each parameter. Tensors are single
 * precision unless another type is named, and do not overlap unless it is said that they may. Operations take effect
 * in the order in which they are issued.
 *
 * <p>A tensor marked A is of the type that products are computed in: F32, F16 or BF16, the same for all A of a call.
 * Sums are accumulated in single precision at least, and rounded once when they are stored. Which of these types a
 * device has, {@link org.isobar.device.Device#supports} says.
 *
 * <p>Gradients of activations overwrite or add as told by {@link WriteMode}; gradients of parameters always add.
 *
 * <p>Sums are partitioned by tensor shape alone, so that bits do not depend on the number of threads.
 */
public interface TensorOps {

    // ---- memory ----

    /** Sets every element of {@code y} (any shape, any type) to {@code value}. */
    void fill(Tensor y, double value);

    /** {@code y = x}; same type and number of elements. */
    void copy(Tensor y, Tensor x);

    /** {@code y = x}, rounded to the nearest number of the type of {@code y}, ties to even; any two of A's types. */
    void cast(Tensor y, Tensor x);

    /**
     * {@code y[j, i, :] = x[i, j, :]}: the two outer dimensions exchanged.
     *
     * @param y (C, R, K), A
     * @param x (R, C, K), A
     */
    void transposeOuter(Tensor y, Tensor x);

    // ---- products; leading dimensions are folded into rows: M = product of all but the last extent ----

    /**
     * {@code y = x W^T}, then the epilogue, whose tensors are of the type of {@code y}.
     *
     * @param y      (M, N), A, or F32 where nothing but a bias follows
     * @param x      (M, K), A
     * @param weight (N, K), A, as PyTorch stores it
     */
    void linear(Tensor y, Tensor x, Tensor weight, Epilogue epilogue);

    /**
     * {@code dx = dy W}, overwriting or adding.
     *
     * @param dx     (M, K), A
     * @param dy     (M, N), A
     * @param weight (N, K), A
     */
    void linearBackwardInput(Tensor dx, Tensor dy, Tensor weight, WriteMode write);

    /**
     * {@code dW += dy^T x}.
     *
     * @param dWeight (N, K), F32
     * @param dy      (M, N), A
     * @param x       (M, K), A
     */
    void linearBackwardWeight(Tensor dWeight, Tensor dy, Tensor x);

    /**
     * {@code db += sum over rows of dy}.
     *
     * @param dBias (N), F32
     * @param dy    (M, N), A
     */
    void biasBackward(Tensor dBias, Tensor dy);

    // ---- layer normalization over the last dimension ----

    /**
     * {@code y = (x - mean) / sqrt(var + epsilon) * gamma + beta}, with the biased variance.
     *
     * @param y       (M, C), A
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
     * @param dx     (M, C), F32
     * @param dGamma (C)
     * @param dBeta  (C)
     * @param dy     (M, C), A
     */
    void layerNormBackward(Tensor dx, Tensor dGamma, Tensor dBeta, Tensor dy, Tensor x, Tensor mean, Tensor invStd,
        Tensor gamma, WriteMode write);

    /**
     * {@link #residual} and, in the same pass over memory, {@link #layerNorm} of its result: {@code z = x + mask *
     * branch}, {@code y = norm(z)}. {@code z} may be {@code x}.
     *
     * @param y        (B, T, C), A
     * @param z        (B, T, C), F32
     * @param mean     (B T), written
     * @param invStd   (B T), written
     * @param x        (B, T, C), F32
     * @param branch   (B, T, C), A
     * @param dropPath over (B)
     * @param gamma    (C)
     * @param beta     (C)
     */
    void residualLayerNorm(Tensor y, Tensor z, Tensor mean, Tensor invStd, Tensor x, Tensor branch, Dropout dropPath,
        Tensor gamma, Tensor beta, double epsilon);

    // ---- activation; all A but the gradient of the bias ----

    /** {@code y = GELU(x) = x/2 (1 + erf(x / sqrt 2))}, the exact form; {@code y} may be {@code x}. */
    void gelu(Tensor y, Tensor x);

    /**
     * Gradients of GELU and of the bias that is added right before it, and GELU itself again: {@code dx = dy GELU'(x)},
     * {@code y = GELU(x)}, {@code db += sum over rows of dx}. The terms of that sum are dx as it is stored, in A, so
     * that the last is {@link #biasBackward} of dx. {@code dx} may be {@code dy}.
     *
     * @param dx    (M, N), A
     * @param y     (M, N), A
     * @param dBias (N), F32
     * @param dy    (M, N), A
     * @param x     (M, N), A: the bias is in it
     */
    void biasGeluBackward(Tensor dx, Tensor y, Tensor dBias, Tensor dy, Tensor x);

    // ---- attention; never a Tq x Tk matrix in memory ----

    /**
     * {@code out = dropout(softmax(q k^T / sqrt D)) v} for each sample and head.
     *
     * @param out     (B, Tq, H, D), A
     * @param lse     (B, H, Tq), F32, written: log of the sum of exponentials of the scaled scores
     * @param q       (B, Tq, H, D), A
     * @param kv      (B, Tk, 2, H, D), A: keys, then values, of each token
     * @param dropout over (B, H, Tq, Tk)
     */
    void attention(Tensor out, Tensor lse, Tensor q, Tensor kv, AttentionShape shape, Dropout dropout);

    /**
     * Gradients of {@link #attention}; both overwrite.
     *
     * @param dq   (B, Tq, H, D), A
     * @param dkv  (B, Tk, 2, H, D), A
     * @param dOut (B, Tq, H, D), A
     */
    void attentionBackward(Tensor dq, Tensor dkv, Tensor dOut, Tensor q, Tensor kv, Tensor out, Tensor lse,
        AttentionShape shape, Dropout dropout);

    // ---- images and tokens ----

    /**
     * Cuts images into tokens.
     *
     * @param tokens (B, T, C*P*P), A, values in the order that {@code shape} names
     * @param image  (B, C, H, W), F32
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
     * @param y        (B, T, C), F32
     * @param x        (B, T, C), F32
     * @param branch   (B, T, C), A
     * @param dropPath over (B)
     */
    void residual(Tensor y, Tensor x, Tensor branch, Dropout dropPath);

    /**
     * {@code dBranch = mask * dy}: what reaches the branch of {@link #residual}; may be in place.
     *
     * @param dBranch (B, T, C), A
     * @param dy      (B, T, C), F32
     */
    void residualBackward(Tensor dBranch, Tensor dy, Dropout dropPath);

    /**
     * {@code y = mask * x}, both A; its own adjoint; {@code y} may be {@code x}.
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
     * @param scale (1), F64: the loss scale
     */
    void relativeL2LossBackward(Tensor dPrediction, Tensor prediction, Tensor target, Tensor norms, Tensor scale);

    /**
     * Root-mean-square error of each channel, averaged over the samples:
     * {@code sqrt(mean over rows j and columns of w(j) (prediction - target)^2)} with the
     * {@link org.isobar.device.LatitudeWeights} w. NaN where the poles' slightly negative weights outweigh an error
     * that lies at the poles alone.
     *
     * @param rmse       (C), F64
     * @param prediction (B, C, H, W)
     * @param target     (B, C, H, W)
     */
    void weightedRmse(Tensor rmse, Tensor prediction, Tensor target);

    /**
     * {@code y = (x - mean) / std}, for each channel.
     *
     * @param y    (B, C, H, W); may be {@code x}
     * @param x    (B, C, H, W)
     * @param mean (C)
     * @param std  (C)
     */
    void normalize(Tensor y, Tensor x, Tensor mean, Tensor std);

    /**
     * {@code gradient *= 1 / scale}; {@code overflow} becomes 1 if an element is not finite then, and else stays.
     *
     * @param gradient (n)
     * @param overflow (1), F64
     * @param scale    (1), F64: the loss scale
     */
    void unscale(Tensor gradient, Tensor overflow, Tensor scale);

    /**
     * Decides whether this step counts, by its overflow flag and its loss, and moves the loss scale: see
     * {@link StepControl}.
     *
     * @param control (7), F64
     * @param loss    (1), F64: of the step, the same on all ranks
     */
    void advance(Tensor control, Tensor loss, LossScaling scaling);

    /**
     * One step of Adam without weight decay over flat ranges (Kingma and Ba, 2015), as PyTorch computes it:
     * {@code m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; p -= lr/(1-b1^t) * m / (sqrt(v)/sqrt(1-b2^t) + epsilon)}.
     * Nothing moves if the step overflowed.
     *
     * @param parameter (n)
     * @param copy      (n), F16 or BF16, written: the parameters as products read them; {@code parameter} itself where
     *                  these are in single precision
     * @param gradient  (n)
     * @param moment1   (n)
     * @param moment2   (n)
     * @param control   (7), F64: a {@link StepControl}
     */
    void adam(Tensor parameter, Tensor copy, Tensor gradient, Tensor moment1, Tensor moment2, Tensor control,
        AdamConstants constants);
}
