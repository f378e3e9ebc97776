package org.isobar.verify.reference;

/**
 * Layer normalization in double precision. The error of x - mean scales with |x| + |mean|. The
 * error of the standard deviation scales with the root mean square of these magnitudes.
 */
public final class ReferenceLayerNorm {
    private final double[] x;
    private final double[] sizes; // magnitudes that the elements of x come from
    private final int rows;
    private final int width;
    private final double[] mean;
    private final double[] invStd;

    /** Computes the statistics from the rows. */
    public ReferenceLayerNorm(double[] x, int width, double epsilon) {
        this(ExpectedTensor.sums(x.length, 1).plus(x), width, epsilon);
    }

    /** Computes the statistics from rows that are themselves computed results. */
    public ReferenceLayerNorm(ExpectedTensor sums, int width, double epsilon) {
        this(sums, width, new double[sums.size() / width], new double[sums.size() / width]);
        for (int r = 0; r < rows; r++) {
            for (int c = 0; c < width; c++) {
                mean[r] += x[r * width + c] / width;
            }
            double variance = 0;
            for (int c = 0; c < width; c++) {
                double distance = x[r * width + c] - mean[r];
                variance += distance * distance / width;
            }
            invStd[r] = 1 / Math.sqrt(variance + epsilon);
        }
    }

    /** Uses given statistics. */
    public ReferenceLayerNorm(double[] x, int width, double[] mean, double[] invStd) {
        this(ExpectedTensor.sums(x.length, 1).plus(x), width, mean, invStd);
    }

    private ReferenceLayerNorm(ExpectedTensor sums, int width, double[] mean, double[] invStd) {
        x = sums.values();
        sizes = sums.magnitudes();
        this.width = width;
        this.rows = x.length / width;
        this.mean = mean;
        this.invStd = invStd;
    }

    public double[] mean() {
        return mean;
    }

    public double[] invStd() {
        return invStd;
    }

    public ExpectedTensor means() {
        ExpectedTensor means = ExpectedTensor.sums(rows, width);
        for (int r = 0; r < rows; r++) {
            means.add(r, mean[r], size(r));
        }
        return means;
    }

    public ExpectedTensor invStds() {
        ExpectedTensor invStds = ExpectedTensor.sums(rows, width);
        for (int r = 0; r < rows; r++) {
            invStds.add(r, invStd[r], invStd[r] * conditioning(r));
        }
        return invStds;
    }

    /** Root mean square of the magnitudes of a row. */
    private double size(int r) {
        double sum = 0;
        for (int c = 0; c < width; c++) {
            sum += sizes[r * width + c] * sizes[r * width + c] / width;
        }
        return Math.sqrt(sum);
    }

    /** The factor by which relative errors of a row grow in its normalized values. */
    private double conditioning(int r) {
        return 1 + size(r) * invStd[r];
    }

    private double normal(int r, int c) {
        return (x[r * width + c] - mean[r]) * invStd[r];
    }

    /** The magnitude that the error of {@link #normal} scales with, in a row of that {@link #conditioning}. */
    private double normalMagnitude(int r, int c, double conditioning) {
        return (sizes[r * width + c] + Math.abs(mean[r])) * invStd[r]
            + Math.abs(normal(r, c)) * conditioning;
    }

    public ExpectedTensor forward(double[] gamma, double[] beta) {
        ExpectedTensor y = ExpectedTensor.sums(x.length, width);
        for (int r = 0; r < rows; r++) {
            double conditioning = conditioning(r);
            for (int c = 0; c < width; c++) {
                y.add(r * width + c, normal(r, c) * gamma[c],
                    normalMagnitude(r, c, conditioning) * Math.abs(gamma[c]));
                y.add(r * width + c, beta[c]);
            }
        }
        return y;
    }

    public ExpectedTensor input(double[] before, double[] dy, double[] gamma) {
        ExpectedTensor dx = ExpectedTensor.sums(x.length, width).plus(before);
        for (int r = 0; r < rows; r++) {
            double conditioning = conditioning(r);
            double meanG = 0;
            double meanGn = 0;
            double meanGMagnitude = 0;
            double meanGnMagnitude = 0;
            for (int c = 0; c < width; c++) {
                double g = dy[r * width + c] * gamma[c];
                meanG += g / width;
                meanGn += g * normal(r, c) / width;
                meanGMagnitude += Math.abs(g) / width;
                meanGnMagnitude += Math.abs(g) * normalMagnitude(r, c, conditioning) / width;
            }
            for (int c = 0; c < width; c++) {
                double g = dy[r * width + c] * gamma[c];
                dx.add(r * width + c, invStd[r] * (g - meanG - normal(r, c) * meanGn),
                    invStd[r] * (Math.abs(g) + meanGMagnitude
                        + normalMagnitude(r, c, conditioning) * meanGnMagnitude));
            }
        }
        return dx;
    }

    public ExpectedTensor gamma(double[] before, double[] dy) {
        ExpectedTensor dGamma = ExpectedTensor.sums(width, rows).plus(before);
        for (int r = 0; r < rows; r++) {
            double conditioning = conditioning(r);
            for (int c = 0; c < width; c++) {
                double g = dy[r * width + c];
                dGamma.add(c, g * normal(r, c), Math.abs(g) * normalMagnitude(r, c, conditioning));
            }
        }
        return dGamma;
    }

    public ExpectedTensor beta(double[] before, double[] dy) {
        return ReferenceProducts.columnSums(before, dy);
    }
}
