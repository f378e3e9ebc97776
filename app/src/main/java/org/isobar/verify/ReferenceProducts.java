package org.isobar.verify;

/** Matrix products in double precision; arrays are row-major. */
final class ReferenceProducts {
    private ReferenceProducts() { }

    /** x W^T, x being (M, K) and W (N, K). */
    static Expected linear(double[] x, double[] weight, int k) {
        int m = x.length / k;
        int n = weight.length / k;
        Expected y = Expected.sums(m * n, k);
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < n; j++) {
                for (int l = 0; l < k; l++) {
                    y.add(i * n + j, x[i * k + l] * weight[j * k + l]);
                }
            }
        }
        return y;
    }

    /** x W^T + b. */
    static Expected linear(double[] x, double[] weight, double[] bias, int k) {
        Expected y = linear(x, weight, k);
        for (int i = 0; i < y.size(); i++) {
            y.add(i, bias[i % bias.length]);
        }
        return y;
    }

    /** GELU(u), given what u is expected to be; the slope of GELU is at most 1.13. */
    static Expected gelu(Expected u, int k) {
        Expected y = Expected.sums(u.size(), k);
        for (int i = 0; i < u.size(); i++) {
            y.add(i, u.value(i) * NormalDistribution.cumulative(u.value(i)), 1.13 * u.magnitude(i));
        }
        return y;
    }

    /** before + dy W, dy being (M, N) and W (N, K). */
    static Expected backwardInput(double[] before, double[] dy, double[] weight, int k) {
        int n = weight.length / k;
        Expected dx = Expected.sums(before.length, n).plus(before);
        for (int i = 0; i < dy.length / n; i++) {
            for (int j = 0; j < n; j++) {
                for (int l = 0; l < k; l++) {
                    dx.add(i * k + l, dy[i * n + j] * weight[j * k + l]);
                }
            }
        }
        return dx;
    }

    /** before + dy^T x, dy being (M, N) and x (M, K). */
    static Expected backwardWeight(double[] before, double[] dy, double[] x, int k) {
        int m = x.length / k;
        int n = dy.length / m;
        Expected dWeight = Expected.sums(n * k, m).plus(before);
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < n; j++) {
                for (int l = 0; l < k; l++) {
                    dWeight.add(j * k + l, dy[i * n + j] * x[i * k + l]);
                }
            }
        }
        return dWeight;
    }

    /** before + sum over rows of dy. */
    static Expected columnSums(double[] before, double[] dy) {
        Expected sums = Expected.sums(before.length, dy.length / before.length).plus(before);
        for (int i = 0; i < dy.length; i++) {
            sums.add(i % before.length, dy[i]);
        }
        return sums;
    }
}
