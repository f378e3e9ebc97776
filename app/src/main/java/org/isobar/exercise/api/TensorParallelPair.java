package org.isobar.exercise.api;

/**
 * Two linear layers without bias, {@code h = x W1^T} and {@code y = h W2^T}, whose hidden units h are divided among the
 * ranks of a group: the first layer is column-parallel, the second row-parallel (Shoeybi et al., 2019). x (B, K) and
 * dy (B, M) are equal on all ranks; of N hidden units, a rank holds N/ranks.
 */
public interface TensorParallelPair {
    /**
     * Gradients on one rank.
     *
     * @param dx  of the input, (B, K), whole and equal on all ranks
     * @param dw1 of this rank's slice of W1, (N/ranks, K)
     * @param dw2 of this rank's slice of W2, (M, N/ranks)
     */
    record Gradients(FloatMatrix dx, FloatMatrix dw1, FloatMatrix dw2) { }

    /**
     * The output y (B, M), whole and equal on all ranks.
     *
     * @param x  (B, K)
     * @param w1 this rank's slice of W1, (N/ranks, K)
     * @param w2 this rank's slice of W2, (M, N/ranks)
     * @param tp the ranks that share the layers
     */
    FloatMatrix forward(FloatMatrix x, FloatMatrix w1, FloatMatrix w2, RankGroup tp);

    /** The gradients for dy (B, M), the gradient of y. */
    Gradients backward(FloatMatrix dy, FloatMatrix x, FloatMatrix w1, FloatMatrix w2, RankGroup tp);
}
