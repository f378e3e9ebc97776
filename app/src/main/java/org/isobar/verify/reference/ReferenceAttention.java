package org.isobar.verify.reference;

import java.util.Arrays;

import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.tensor.DType;

/**
 * Attention in double precision with explicit matrices. A score has an error proportional to the sum of the magnitudes
 * of its terms. The exponential turns it into a relative error, hence the factor on everything computed from
 * probabilities.
 *
 * <p>A device may introduce two more errors. First, it may round the operands of products to less than their type
 * (TF32). Each score then has that relative error times the magnitudes of its terms. Each probability has the error of
 * its own score and, through the sum of the row, of the others. Second, it may round the probabilities, and in backward
 * the gradients of the scores, to the type of the operands before the next product. In binary16 the smallest of them,
 * relative to the largest of the row, are subnormal.
 */
public final class ReferenceAttention {
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
    private final double[] scoreDoubts; // of each probability, relative
    private final double operands;
    private final double middle;
    private final double smallest;
    private double errorGrowth;

    /**
     * Computes attention for queries and keys of type {@code a}.
     *
     * @param operands relative error with which the device rounds an operand
     */
    public ReferenceAttention(double[] q, double[] kv, AttentionShape shape, Dropout dropout, DType a,
        double operands) {
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
        scoreDoubts = new double[mask.length];
        logSums = new double[batch * heads * queries];
        this.operands = operands;
        middle = a == DType.F32 ? operands : NumberFormats.roundoff(a);
        smallest = a == DType.F32 ? 0 : NumberFormats.underflow(a);
        for (int row = 0; row < logSums.length; row++) {
            softmax(row);
        }
    }

    private int b(int row) {
        return row / queries / heads;
    }

    /** Offset in q and out of query {@code row}, counted over (B, H, Tq). */
    private int query(int row) {
        return ((b(row) * queries + row % queries) * heads + row / queries % heads) * dim;
    }

    /** Offset in kv of key {@code j} of that query's head. */
    private int key(int row, int j) {
        return ((b(row) * keys + j) * 2 * heads + row / queries % heads) * dim;
    }

    private int value(int row, int j) {
        return key(row, j) + heads * dim;
    }

    private void softmax(int row) {
        double[] scores = new double[keys];
        double largest = Double.NEGATIVE_INFINITY;
        int query = query(row);
        double scale = shape.scale();
        for (int j = 0; j < keys; j++) {
            double magnitude = 0;
            int key = key(row, j);
            for (int d = 0; d < dim; d++) {
                double term = scale * q[query + d] * kv[key + d];
                scores[j] += term;
                magnitude += Math.abs(term);
            }
            largest = Math.max(largest, scores[j]);
            errorGrowth = Math.max(errorGrowth, 1 + 2 * magnitude);
            scoreDoubts[row * keys + j] = operands * (2 + operands) * magnitude;
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

    /** The error allowed for the log of the sum of exponentials. */
    private double sumDoubt(int row) {
        double doubt = 0;
        for (int p = row * keys; p < (row + 1) * keys; p++) {
            doubt += probabilities[p] * scoreDoubts[p];
        }
        return doubt;
    }

    private double largest(int row) {
        return Arrays.stream(probabilities, row * keys, (row + 1) * keys).max().orElseThrow();
    }

    public ExpectedTensor out() {
        ExpectedTensor out = ExpectedTensor.sums(q.length, dim + keys);
        for (int row = 0; row < logSums.length; row++) {
            double sumDoubt = sumDoubt(row);
            double largest = largest(row);
            int query = query(row);
            for (int j = 0; j < keys; j++) {
                int p = row * keys + j;
                int value = value(row, j);
                double weight = probabilities[p] * mask[p];
                double doubt = weight * (Math.expm1(scoreDoubts[p] + sumDoubt) + middle + operands)
                    + smallest * largest * mask[p];
                for (int d = 0; d < dim; d++) {
                    double v = kv[value + d];
                    out.add(query + d, weight * v, Math.abs(weight * v) * errorGrowth);
                    out.doubt(query + d, doubt * Math.abs(v));
                }
            }
        }
        return out;
    }

    public ExpectedTensor lse() {
        ExpectedTensor lse = ExpectedTensor.sums(logSums.length, dim + keys);
        for (int row = 0; row < logSums.length; row++) {
            lse.add(row, logSums[row], Math.abs(logSums[row]) + errorGrowth);
            lse.doubt(row, Math.expm1(sumDoubt(row)));
        }
        return lse;
    }

    /** Gradients of q and of kv. */
    public record Gradients(ExpectedTensor dq, ExpectedTensor dkv) { }

    /** Computes them from the gradient of {@code out} and from {@code out} as the forward pass stored it. */
    public Gradients backward(double[] dOut, double[] out) {
        Gradients gradients = new Gradients(ExpectedTensor.sums(q.length, dim + keys),
            ExpectedTensor.sums(kv.length, dim + queries));
        for (int p = 0; p < probabilities.length; p++) {
            backward(p, dOut, out, gradients);
        }
        return gradients;
    }

    private void backward(int p, double[] dOut, double[] out, Gradients gradients) {
        int row = p / keys;
        int query = query(row);
        int key = key(row, p % keys);
        int value = value(row, p % keys);
        double weight = probabilities[p] * mask[p];
        double again = Math.expm1(scoreDoubts[p]); // the row's sum is given
        double weightDoubt = weight * (again + middle + operands) + smallest * mask[p];
        double dScore = 0;
        double magnitude = 0;
        double products = 0;
        for (int d = 0; d < dim; d++) {
            double upstream = dOut[query + d];
            gradients.dkv.add(value + d, weight * upstream, Math.abs(weight * upstream) * errorGrowth);
            gradients.dkv.doubt(value + d, weightDoubt * Math.abs(upstream));
            double product = weight * upstream * kv[value + d];
            double mean = probabilities[p] * upstream * out[query + d];
            dScore += product - mean;
            magnitude += Math.abs(product) + Math.abs(mean);
            products += Math.abs(product);
        }
        double scale = shape.scale();
        double error = magnitude * errorGrowth * scale;
        double doubt = scale * (Math.abs(dScore) * (again + middle + operands)
            + products * operands * (2 + operands) * (1 + again) + smallest);
        for (int d = 0; d < dim; d++) {
            double qd = q[query + d];
            double kd = kv[key + d];
            gradients.dq.add(query + d, scale * dScore * kd, error * Math.abs(kd));
            gradients.dq.doubt(query + d, doubt * Math.abs(kd));
            gradients.dkv.add(key + d, scale * dScore * qd, error * Math.abs(qd));
            gradients.dkv.doubt(key + d, doubt * Math.abs(qd));
        }
    }
}
