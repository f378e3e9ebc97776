package org.isobar.device.ops;

import org.isobar.tensor.Tensor;

/** Operations on images, patch tokens and position embeddings. {@link TensorOps} explains shapes and types. */
public interface ImageOps {
    /**
     * Cuts images into tokens.
     *
     * @param tokens (B, T, C*P*P), compute type; the values of a token in the order given by {@code shape}
     * @param image  (B, C, H, W), F32
     */
    void patchify(Tensor tokens, Tensor image, PatchShape shape);

    /**
     * Assembles tokens into images: the inverse of {@link #patchify}, and its adjoint.
     *
     * @param image  (B, C, H, W), F32
     * @param tokens (B, T, C*P*P), compute type
     */
    void unpatchify(Tensor image, Tensor tokens, PatchShape shape);

    /**
     * {@code y = x + positions} for each sample; {@code y} may be {@code x}.
     *
     * @param y         (B, T, C), F32
     * @param x         (B, T, C), F32
     * @param positions (T, C), F32
     */
    void addPositions(Tensor y, Tensor x, Tensor positions);

    /**
     * {@code dPositions += sum over samples of dy}.
     *
     * @param dPositions (T, C), F32
     * @param dy         (B, T, C), F32
     */
    void addPositionsBackward(Tensor dPositions, Tensor dy);

    /**
     * {@code y = (x - mean) / std} for each channel; {@code y} may be {@code x}.
     *
     * @param y    (B, C, H, W), F32
     * @param x    (B, C, H, W), F32
     * @param mean (C), F32
     * @param std  (C), F32
     */
    void normalize(Tensor y, Tensor x, Tensor mean, Tensor std);
}
