package org.isobar.verify;

import java.util.function.DoubleUnaryOperator;

import org.isobar.device.AttentionShape;

/**
 * Attention in two passes over the keys of each query, with roundings where a device has them or must not. Arrays are
 * laid out as {@link org.isobar.device.TensorOps} has them; the mask is (B, H, Tq, Tk).
 */
final class RoundingAttention {
    private final AttentionShape shape;
    private final double[] mask;
    private final Roundings at;

    /**
     * Where numbers are rounded, and how.
     *
     * @param operands      q, k, v and dOut, as products take them in
     * @param scores        before the softmax
     * @param probabilities before the second product; unnormalized in the forward pass
     * @param gradients     of the scores, before the second product
     * @param means         of upstream gradients, weighted by probability
     */
    record Roundings(DoubleUnaryOperator operands, DoubleUnaryOperator scores, DoubleUnaryOperator probabilities,
        DoubleUnaryOperator gradients, DoubleUnaryOperator means) {
        /** None. */
        static final Roundings NONE = new Roundings(x -> x, x -> x, x -> x, x -> x, x -> x);
    }

    RoundingAttention(AttentionShape shape, double[] mask, Roundings at) {
        this.shape = shape;
        this.mask = mask;
        this.at = at;
    }

    private int query(int row) {
        int b = row / queries() / heads();
        return ((b * queries() + row % queries()) * heads() + row / queries() % heads()) * dim();
    }

    private int key(int row, int j) {
        int b = row / queries() / heads();
        return ((b * keys() + j) * 2 * heads() + row / queries() % heads()) * dim();
    }

    private int queries() {
        return (int) shape.queries();
    }

    private int keys() {
        return (int) shape.keys();
    }

    private int heads() {
        return (int) shape.heads();
    }

    private int dim() {
        return (int) shape.headDim();
    }

    private double dot(double[] x, int from, double[] y, int to) {
        double sum = 0;
        for (int d = 0; d < dim(); d++) {
            sum += at.operands().applyAsDouble(x[from + d]) * at.operands().applyAsDouble(y[to + d]);
        }
        return sum;
    }

    private double score(double[] q, double[] kv, int row, int j) {
        return at.scores().applyAsDouble(shape.scale() * dot(q, query(row), kv, key(row, j)));
    }

    private void add(double[] y, int to, double factor, double[] x, int from) {
        for (int d = 0; d < dim(); d++) {
            y[to + d] += factor * at.operands().applyAsDouble(x[from + d]);
        }
    }

    /** Fills out and lse. */
    void forward(double[] out, double[] lse, double[] q, double[] kv) {
        for (int row = 0; row < lse.length; row++) {
            double largest = Double.NEGATIVE_INFINITY;
            for (int j = 0; j < keys(); j++) {
                largest = Math.max(largest, score(q, kv, row, j));
            }
            double sum = 0;
            double[] mean = new double[dim()];
            for (int j = 0; j < keys(); j++) {
                double p = Math.exp(score(q, kv, row, j) - largest);
                sum += p;
                double weight = at.probabilities().applyAsDouble(p * mask[row * keys() + j]);
                add(mean, 0, weight, kv, key(row, j) + heads() * dim());
            }
            lse[row] = largest + Math.log(sum);
            for (int d = 0; d < dim(); d++) {
                out[query(row) + d] = mean[d] / sum;
            }
        }
    }

    /** Fills dq and dkv, which are zero. */
    void backward(double[] dq, double[] dkv, double[] dOut, double[] q, double[] kv, double[] out, double[] lse) {
        for (int row = 0; row < lse.length; row++) {
            double mean = 0;
            for (int d = 0; d < dim(); d++) {
                mean += dOut[query(row) + d] * out[query(row) + d];
            }
            for (int j = 0; j < keys(); j++) {
                int value = key(row, j) + heads() * dim();
                double kept = mask[row * keys() + j];
                double p = Math.exp(score(q, kv, row, j) - lse[row]);
                add(dkv, value, at.probabilities().applyAsDouble(p * kept), dOut, query(row));
                double dScore = at.gradients().applyAsDouble(
                    p * (kept * dot(dOut, query(row), kv, value) - at.means().applyAsDouble(mean)));
                add(dq, query(row), shape.scale() * dScore, kv, key(row, j));
                add(dkv, key(row, j), shape.scale() * dScore, q, query(row));
            }
        }
    }
}
