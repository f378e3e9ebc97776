package org.isobar.device.ops;

import org.isobar.tensor.Tensor;

/**
 * Scaled dot-product attention (Vaswani et al., 2017). No Tq x Tk matrix is stored in memory. {@link TensorOps}
 * explains how shapes and types are written.
 */
public interface AttentionOps {
    /**
     * {@code out = dropout(softmax(q k^T / sqrt D)) v} for each sample and head.
     *
     * @param out     (B, Tq, H, D), as q
     * @param lse     (B, H, Tq), F32, written: log of the sum of exponentials of the scaled scores
     * @param q       (B, Tq, H, D), compute type
     * @param kv      (B, Tk, 2, H, D), as q: for each token its keys, then its values
     * @param dropout over (B, H, Tq, Tk)
     */
    void attention(Tensor out, Tensor lse, Tensor q, Tensor kv, AttentionShape shape, Dropout dropout);

    /**
     * Gradients of {@link #attention}. Both outputs are overwritten.
     *
     * @param dq      (B, Tq, H, D), as q
     * @param dkv     (B, Tk, 2, H, D), as q
     * @param dOut    (B, Tq, H, D), as q
     * @param q       (B, Tq, H, D), compute type
     * @param kv      (B, Tk, 2, H, D), as q
     * @param out     (B, Tq, H, D), as q
     * @param lse     (B, H, Tq), F32
     * @param dropout over (B, H, Tq, Tk)
     */
    void attentionBackward(Tensor dq, Tensor dkv, Tensor dOut, Tensor q, Tensor kv, Tensor out, Tensor lse,
        AttentionShape shape, Dropout dropout);
}
