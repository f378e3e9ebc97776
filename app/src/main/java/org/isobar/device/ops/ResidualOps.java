package org.isobar.device.ops;

import org.isobar.tensor.Tensor;

/** Residual connections and random masks. {@link TensorOps} explains how shapes and types are written. */
public interface ResidualOps {
    /**
     * {@code y = x + mask * branch}, with one mask value per sample (drop-path: stochastic depth). {@code y} may be
     * {@code x} or {@code branch}.
     *
     * @param y        (B, T, C), F32
     * @param x        (B, T, C), F32
     * @param branch   (B, T, C), compute type
     * @param dropPath over (B)
     */
    void residual(Tensor y, Tensor x, Tensor branch, Dropout dropPath);

    /**
     * {@code dBranch = mask * dy}: the gradient of the branch of {@link #residual}. {@code dBranch} may be {@code dy}.
     *
     * @param dBranch  (B, T, C), compute type
     * @param dy       (B, T, C), F32
     * @param dropPath over (B)
     */
    void residualBackward(Tensor dBranch, Tensor dy, Dropout dropPath);

    /**
     * {@code y = mask * x}, which is its own adjoint; {@code y} may be {@code x}.
     *
     * @param y       (B, T, C), as x
     * @param x       (B, T, C), compute type
     * @param dropout over (B, T, C)
     */
    void dropout(Tensor y, Tensor x, Dropout dropout);
}
