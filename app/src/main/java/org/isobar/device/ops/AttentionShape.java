package org.isobar.device.ops;

/**
 * Extents of scaled dot-product attention; scores are scaled by 1 / sqrt(headDim).
 *
 * @param batch   samples, B
 * @param queries query tokens, Tq
 * @param keys    key and value tokens, Tk
 * @param heads   heads, H
 * @param headDim channels of one head, D
 */
public record AttentionShape(long batch, long queries, long keys, long heads, long headDim) {
    /** Factor on the scores before the softmax. */
    public double scale() {
        return 1 / Math.sqrt(headDim);
    }
}
