package org.isobar.verify;

import org.isobar.device.AttentionShape;
import org.isobar.device.Dropout;

/**
 * Attention in double precision with its matrices written out. A score carries an error of the sum of the magnitudes of
 * its terms, which its exponential makes a relative one: hence the factor on everything that is made of probabilities.
 */
final class ReferenceAttention {
    private final AttentionShape shape;
    private final int batch;
    private final int queries;
    private final int keys;
    private final int heads;
    private final int dim;
    private final double[] q;
    private final double[] kv;
    private final double[] mask;
    private final double[] probabilities;
    private final double[] logSums;
    private double errorGrowth;

    ReferenceAttention(double[] q, double[] kv, AttentionShape shape, Dropout dropout) {
        this.shape = shape;
        batch = (int) shape.batch();
        queries = (int) shape.queries();
        keys = (int) shape.keys();
        heads = (int) shape.heads();
        dim = (int) shape.headDim();
        this.q = q;
        this.kv = kv;
        mask = ReferenceOps.mask(dropout, batch, heads, queries, keys);
        probabilities = new double[mask.length];
        logSums = new double[batch * heads * queries];
        for (int row = 0; row < logSums.length; row++) {
            softmax(row);
        }
    }

    private int b(int row) {
        return row / queries / heads;
    }

    /** Where query {@code row}, counted over (B, H, Tq), lies in q and out. */
    private int query(int row) {
        return ((b(row) * queries + row % queries) * heads + row / queries % heads) * dim;
    }

    /** Where key {@code j} of that query's head lies in kv. */
    private int key(int row, int j) {
        return ((b(row) * keys + j) * 2 * heads + row / queries % heads) * dim;
    }

    private int value(int row, int j) {
        return key(row, j) + heads * dim;
    }

    private void softmax(int row) {
        double[] scores = new double[keys];
        double largest = Double.NEGATIVE_INFINITY;
        for (int j = 0; j < keys; j++) {
            double magnitude = 0;
            for (int d = 0; d < dim; d++) {
                double term = shape.scale() * q[query(row) + d] * kv[key(row, j) + d];
                scores[j] += term;
                magnitude += Math.abs(term);
            }
            largest = Math.max(largest, scores[j]);
            errorGrowth = Math.max(errorGrowth, 1 + 2 * magnitude);
        }
        double sum = 0;
        for (double score : scores) {
            sum += Math.exp(score - largest);
        }
        logSums[row] = largest + Math.log(sum);
        for (int j = 0; j < keys; j++) {
            probabilities[row * keys + j] = Math.exp(scores[j] - logSums[row]);
        }
    }

    Expected out() {
        Expected out = Expected.sums(q.length, dim + keys);
        for (int p = 0; p < probabilities.length; p++) {
            int row = p / keys;
            double weight = probabilities[p] * mask[p];
            for (int d = 0; d < dim; d++) {
                double term = weight * kv[value(row, p % keys) + d];
                out.add(query(row) + d, term, Math.abs(term) * errorGrowth);
            }
        }
        return out;
    }

    Expected lse() {
        Expected lse = Expected.sums(logSums.length, dim + keys);
        for (int row = 0; row < logSums.length; row++) {
            lse.add(row, logSums[row], Math.abs(logSums[row]) + errorGrowth);
        }
        return lse;
    }

    /** Gradients of q and of kv. */
    record Gradients(Expected dq, Expected dkv) { }

    Gradients backward(double[] dOut) {
        double[] out = out().values();
        Expected dq = Expected.sums(q.length, dim + keys);
        Expected dkv = Expected.sums(kv.length, dim + queries);
        for (int p = 0; p < probabilities.length; p++) {
            int row = p / keys;
            int j = p % keys;
            double dScore = 0;
            double magnitude = 0;
            for (int d = 0; d < dim; d++) {
                double upstream = dOut[query(row) + d];
                double weight = probabilities[p] * mask[p];
                dkv.add(value(row, j) + d, weight * upstream, Math.abs(weight * upstream) * errorGrowth);
                dScore += upstream * (weight * kv[value(row, j) + d] - probabilities[p] * out[query(row) + d]);
                magnitude += Math.abs(upstream)
                    * (Math.abs(weight * kv[value(row, j) + d]) + Math.abs(probabilities[p] * out[query(row) + d]));
            }
            double scale = shape.scale();
            double error = magnitude * errorGrowth * scale;
            for (int d = 0; d < dim; d++) {
                double qd = q[query(row) + d];
                double kd = kv[key(row, j) + d];
                dq.add(query(row) + d, scale * dScore * kd, error * Math.abs(kd));
                dkv.add(key(row, j) + d, scale * dScore * qd, error * Math.abs(qd));
            }
        }
        return new Gradients(dq, dkv);
    }
}
