package org.isobar.verify.reference;

import org.isobar.tensor.DType;

/**
 * Matrix products in double precision; arrays are row-major. A {@code roundoff} is the relative error with which the
 * device rounds an operand.
 */
public final class ReferenceProducts {
    private ReferenceProducts() { }

    /** x W^T, x being (M, K) and W (N, K). */
    public static ExpectedTensor linear(double[] x, double[] weight, int k, double roundoff) {
        int m = x.length / k;
        int n = weight.length / k;
        ExpectedTensor y = ExpectedTensor.sums(m * n, k);
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < n; j++) {
                for (int l = 0; l < k; l++) {
                    y.add(i * n + j, x[i * k + l] * weight[j * k + l]);
                }
            }
        }
        return y.ofOperandsWithin(roundoff);
    }

    /** Adds a bias to each row of a product. */
    public static ExpectedTensor biased(ExpectedTensor product, double[] bias) {
        for (int i = 0; i < product.size(); i++) {
            product.add(i, bias[i % bias.length]);
        }
        return product;
    }

    /**
     * GELU(u), given what u is expected to be; the slope of GELU is at most 1.13. It may be that of u as it is stored,
     * in the type {@code a}.
     */
    public static ExpectedTensor gelu(ExpectedTensor u, int k, DType a) {
        ExpectedTensor y = ExpectedTensor.sums(u.size(), k);
        for (int i = 0; i < u.size(); i++) {
            y.add(i, u.value(i) * NormalDistribution.cumulative(u.value(i)), 1.13 * u.magnitude(i));
            double stored = a == DType.F32 ? 0 : NumberFormats.roundoff(a) * Math.abs(u.value(i))
                + NumberFormats.underflow(a);
            y.doubt(i, 1.13 * (u.doubted(i) + stored));
        }
        return y;
    }

    /** dy W, dy being (M, N) and W (N, K). */
    public static ExpectedTensor backwardInput(double[] dy, double[] weight, int k, double roundoff) {
        int n = weight.length / k;
        ExpectedTensor dx = ExpectedTensor.sums(dy.length / n * k, n);
        for (int i = 0; i < dy.length / n; i++) {
            for (int j = 0; j < n; j++) {
                for (int l = 0; l < k; l++) {
                    dx.add(i * k + l, dy[i * n + j] * weight[j * k + l]);
                }
            }
        }
        return dx.ofOperandsWithin(roundoff);
    }

    /** before + dy^T x, dy being (M, N) and x (M, K). */
    public static ExpectedTensor backwardWeight(double[] before, double[] dy, double[] x, int k, double roundoff) {
        int m = x.length / k;
        int n = dy.length / m;
        ExpectedTensor dWeight = ExpectedTensor.sums(n * k, m);
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < n; j++) {
                for (int l = 0; l < k; l++) {
                    dWeight.add(j * k + l, dy[i * n + j] * x[i * k + l]);
                }
            }
        }
        return dWeight.ofOperandsWithin(roundoff).plus(before);
    }

    /** before + sum over rows of dy. */
    public static ExpectedTensor columnSums(double[] before, double[] dy) {
        ExpectedTensor sums = ExpectedTensor.sums(before.length, dy.length / before.length).plus(before);
        for (int i = 0; i < dy.length; i++) {
            sums.add(i % before.length, dy[i]);
        }
        return sums;
    }
}
