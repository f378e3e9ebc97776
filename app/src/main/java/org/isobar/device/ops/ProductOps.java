package org.isobar.device.ops;

import org.isobar.tensor.Tensor;

/**
 * Matrix products of linear layers and the operations fused with them. The leading dimensions of activations are
 * folded into rows: M is the product of all extents but the last. {@link TensorOps} explains how shapes and types are
 * written.
 */
public interface ProductOps {
    /**
     * {@code y = x W^T}, followed by the epilogue.
     *
     * @param y        (M, N), as x; F32 is allowed too, except with {@link Epilogue.BiasGelu}
     * @param x        (M, K), compute type
     * @param weight   (N, K), as x; the layout of PyTorch
     * @param epilogue its tensors are of the type of y
     */
    void linear(Tensor y, Tensor x, Tensor weight, Epilogue epilogue);

    /**
     * {@code dx = dy W}, overwriting or adding.
     *
     * @param dx     (M, K), as dy
     * @param dy     (M, N), compute type
     * @param weight (N, K), as dy
     */
    void linearBackwardInput(Tensor dx, Tensor dy, Tensor weight, WriteMode write);

    /**
     * {@code dW += dy^T x}.
     *
     * @param dWeight (N, K), F32
     * @param dy      (M, N), compute type
     * @param x       (M, K), as dy
     */
    void linearBackwardWeight(Tensor dWeight, Tensor dy, Tensor x);

    /**
     * {@code db += sum over rows of dy}.
     *
     * @param dBias (N), F32
     * @param dy    (M, N), compute type
     */
    void biasBackward(Tensor dBias, Tensor dy);

    /**
     * Gradients of both parameters: {@code dW += dy^T x}, {@code db += sum over rows of dy}. A back end whose product
     * does not sum dy as well computes one after the other.
     *
     * @param dWeight (N, K), F32
     * @param dBias   (N), F32
     * @param dy      (M, N), compute type
     * @param x       (M, K), as dy
     */
    default void linearBackwardParameters(Tensor dWeight, Tensor dBias, Tensor dy, Tensor x) {
        linearBackwardWeight(dWeight, dy, x);
        biasBackward(dBias, dy);
    }

    /**
     * Gradients of the GELU and of the bias of {@link Epilogue.BiasGelu}, with the GELU recomputed:
     * {@code dx = dy GELU'(x)}, {@code y = GELU(x)}, {@code db += sum over rows of dx}. The sum uses dx as it is
     * stored, so it equals the result of {@link #biasBackward} of dx. {@code dx} may be {@code dy}, and
     * {@code y} may be {@code x}.
     *
     * @param dx    (M, N), as x
     * @param y     (M, N), as x
     * @param dBias (N), F32
     * @param dy    (M, N), as x
     * @param x     (M, N), compute type: the pre-activation, bias included
     */
    void biasGeluBackward(Tensor dx, Tensor y, Tensor dBias, Tensor dy, Tensor x);
}
