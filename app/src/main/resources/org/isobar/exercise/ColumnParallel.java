import org.isobar.exercise.api.FloatMatrix;
import org.isobar.exercise.api.RankGroup;
import org.isobar.exercise.api.TensorParallelPair;

/**
 * Two linear layers whose hidden units are divided among the ranks of tp: y = (x W1^T) W2^T.
 *
 * Each rank has whole x and dy, N/ranks rows of W1 and the same N/ranks columns of W2. All products are there; the
 * communication is missing. tp.allReduce(matrix.values()) replaces a matrix by its sum over all ranks.
 */
public final class ColumnParallel implements TensorParallelPair {
    @Override
    public FloatMatrix forward(FloatMatrix x, FloatMatrix w1, FloatMatrix w2, RankGroup tp) {
        FloatMatrix h = x.times(w1.transposed()); // (B, N/ranks)
        FloatMatrix y = h.times(w2.transposed()); // (B, M)
        // TODO: which ranks' hidden units does y contain here? Which must it contain?
        return y;
    }

    @Override
    public Gradients backward(FloatMatrix dy, FloatMatrix x, FloatMatrix w1, FloatMatrix w2, RankGroup tp) {
        FloatMatrix h = x.times(w1.transposed());   // (B, N/ranks)
        FloatMatrix dw2 = dy.transposed().times(h); // (M, N/ranks)
        FloatMatrix dh = dy.times(w2);              // (B, N/ranks)
        FloatMatrix dw1 = dh.transposed().times(x); // (N/ranks, K)
        FloatMatrix dx = dh.times(w1);              // (B, K)
        // TODO: one of the three gradients is not complete on this rank. Which, and what completes it?
        return new Gradients(dx, dw1, dw2);
    }
}
