package org.isobar.backend.cpu;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.isobar.device.AttentionShape;
import org.isobar.device.Dropout;
import org.isobar.random.Philox;

/** Attention and its gradients as the formulas have them, with whole matrices and in double precision. */
public final class AttentionReference {
    private final AttentionShape shape;
    private final Dropout dropout;
    private final float[] q;
    private final float[] kv;
    private final float[] dOut;
    private final double[] out;
    private final double[] lse;
    private final double[] dq;
    private final double[] dkv;

    /** Works everything out. */
    public AttentionReference(AttentionShape shape, Dropout dropout, float[] q, float[] kv, float[] dOut) {
        this.shape = shape;
        this.dropout = dropout;
        this.q = q;
        this.kv = kv;
        this.dOut = dOut;
        out = new double[q.length];
        lse = new double[(int) (shape.batch() * shape.heads() * shape.queries())];
        dq = new double[q.length];
        dkv = new double[kv.length];
        for (int b = 0; b < shape.batch(); b++) {
            for (int h = 0; h < shape.heads(); h++) {
                for (int t = 0; t < shape.queries(); t++) {
                    query(b, h, t);
                }
            }
        }
    }

    /** Row-major, as the operation lays it out. */
    public double[] out() {
        return out;
    }

    /** Row-major, as the operation lays it out. */
    public double[] lse() {
        return lse;
    }

    /** Row-major, as the operation lays it out. */
    public double[] dq() {
        return dq;
    }

    /** Row-major, as the operation lays it out. */
    public double[] dkv() {
        return dkv;
    }

    /** Fails unless ||actual - expected|| is at most {@code tolerance} times ||expected||. */
    public static void assertClose(String name, double[] expected, float[] actual, double tolerance) {
        double difference = 0;
        double norm = 0;
        for (int i = 0; i < expected.length; i++) {
            difference += (actual[i] - expected[i]) * (actual[i] - expected[i]);
            norm += expected[i] * expected[i];
        }
        double error = Math.sqrt(difference / Math.max(norm, 1));
        assertTrue(error <= tolerance, name + ": error " + error + ", tolerance " + tolerance); // NaN fails too
    }

    private void query(int b, int h, int t) {
        int keys = (int) shape.keys();
        int dim = (int) shape.headDim();
        int query = (int) (((b * shape.queries() + t) * shape.heads() + h) * dim);
        double[] scores = new double[keys];
        double greatest = Double.NEGATIVE_INFINITY;
        for (int s = 0; s < keys; s++) {
            for (int d = 0; d < dim; d++) {
                scores[s] += shape.scale() * q[query + d] * kv[key(b, h, s, 0) + d];
            }
            greatest = Math.max(greatest, scores[s]);
        }
        double sum = 0;
        for (double score : scores) {
            sum += Math.exp(score - greatest);
        }
        double logSum = greatest + Math.log(sum);
        lse[(int) ((b * shape.heads() + h) * shape.queries() + t)] = logSum;
        double[] weights = new double[keys];
        double[] dWeights = new double[keys];
        double delta = 0;
        for (int s = 0; s < keys; s++) {
            weights[s] = Math.exp(scores[s] - logSum);
            double mask = mask(b, h, t, s);
            for (int d = 0; d < dim; d++) {
                out[query + d] += mask * weights[s] * kv[key(b, h, s, 1) + d];
                dkv[key(b, h, s, 1) + d] += mask * weights[s] * dOut[query + d];
                dWeights[s] += mask * dOut[query + d] * kv[key(b, h, s, 1) + d];
            }
            delta += weights[s] * dWeights[s];
        }
        for (int s = 0; s < keys; s++) {
            double dScore = weights[s] * (dWeights[s] - delta) * shape.scale();
            for (int d = 0; d < dim; d++) {
                dq[query + d] += dScore * kv[key(b, h, s, 0) + d];
                dkv[key(b, h, s, 0) + d] += dScore * q[query + d];
            }
        }
    }

    private int key(int b, int h, int s, int half) {
        return (int) ((((b * shape.keys() + s) * 2 + half) * shape.heads() + h) * shape.headDim());
    }

    private double mask(int b, int h, int t, int s) {
        if (dropout.isNone()) {
            return 1;
        }
        long bits = Philox.bits(dropout.key(), dropout.globalIndex(b, h, t, s)) & 0xFFFFFFFFL;
        return bits < dropout.threshold() ? 0 : 1 / (1 - dropout.probability());
    }
}
