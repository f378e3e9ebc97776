package org.isobar.verify;

import java.util.function.IntToDoubleFunction;

import org.isobar.device.AdamConstants;
import org.isobar.device.Dropout;
import org.isobar.device.StepControl;
import org.isobar.random.Philox;

/**
 * The operations on plain arrays in double precision, one element after the other, as the formulas stand: activation,
 * positions, the residual stream, the update.
 */
final class ReferenceOps {
    /** Roundings in the evaluation of a transcendental function. */
    private static final int FUNCTION_TERMS = 16;

    private ReferenceOps() { }

    /** Each element by itself, from a few terms. */
    static Expected map(int count, IntToDoubleFunction f) {
        Expected y = Expected.sums(count, 1);
        for (int i = 0; i < count; i++) {
            y.add(i, f.applyAsDouble(i));
        }
        return y;
    }

    /** (rows, columns, width) with its two outer dimensions exchanged. */
    static double[] transposed(double[] x, int rows, int columns, int width) {
        double[] y = new double[x.length];
        for (int i = 0; i < x.length; i++) {
            int row = i / (columns * width);
            int column = i / width % columns;
            y[(column * rows + row) * width + i % width] = x[i];
        }
        return y;
    }

    /** In the negative tail 1 + erf cancels, hence the magnitude. */
    static Expected gelu(double[] x) {
        Expected y = Expected.sums(x.length, FUNCTION_TERMS);
        for (int i = 0; i < x.length; i++) {
            y.add(i, x[i] * NormalDistribution.cumulative(x[i]), Math.abs(x[i]));
        }
        return y;
    }

    static Expected geluBackward(double[] dy, double[] x) {
        Expected dx = Expected.sums(x.length, FUNCTION_TERMS);
        for (int i = 0; i < x.length; i++) {
            double slope = NormalDistribution.cumulative(x[i]) + x[i] * NormalDistribution.density(x[i]);
            dx.add(i, dy[i] * slope, Math.abs(dy[i]));
        }
        return dx;
    }

    static Expected addPositions(double[] x, double[] positions) {
        Expected y = Expected.sums(x.length, 2);
        for (int i = 0; i < x.length; i++) {
            y.add(i, x[i]);
            y.add(i, positions[i % positions.length]);
        }
        return y;
    }

    static Expected addPositionsBackward(double[] dPositions, double[] dy) {
        Expected sum = Expected.sums(dPositions.length, dy.length / dPositions.length).plus(dPositions);
        for (int i = 0; i < dy.length; i++) {
            sum.add(i % dPositions.length, dy[i]);
        }
        return sum;
    }

    /** Values of a mask over the given local extents, row-major. */
    static double[] mask(Dropout dropout, int... extents) {
        int count = 1;
        for (int extent : extents) {
            count *= extent;
        }
        double[] mask = new double[count];
        long[] local = new long[extents.length];
        for (int i = 0; i < count; i++) {
            int rest = i;
            for (int dim = extents.length - 1; dim >= 0; dim--) {
                local[dim] = rest % extents[dim];
                rest /= extents[dim];
            }
            mask[i] = value(dropout, local);
        }
        return mask;
    }

    private static double value(Dropout dropout, long[] local) {
        if (dropout.isNone()) {
            return 1;
        }
        long bits = Integer.toUnsignedLong(Philox.bits(dropout.key(), dropout.globalIndex(local)));
        return bits < dropout.threshold() ? 0 : 1 / (1 - dropout.probability());
    }

    static Expected residual(double[] x, double[] branch, double[] mask) {
        int sample = x.length / mask.length;
        Expected y = Expected.sums(x.length, 2).plus(x);
        for (int i = 0; i < x.length; i++) {
            y.add(i, mask[i / sample] * branch[i]);
        }
        return y;
    }

    static Expected masked(double[] x, double[] mask) {
        int each = x.length / mask.length;
        return map(x.length, i -> mask[i / each] * x[i]);
    }

    /** Infinite where single precision is. */
    static Expected unscaled(double[] gradient, double scale) {
        return map(gradient.length, i -> {
            double quotient = gradient[i] / scale;
            return Math.abs(quotient) > Float.MAX_VALUE ? Math.copySign(Double.POSITIVE_INFINITY, quotient) : quotient;
        });
    }

    /** (B, C, H, W), each channel by its own mean and deviation; the planes are (H, W). */
    static Expected normalized(double[] x, double[] mean, double[] std, int plane) {
        Expected y = Expected.sums(x.length, 2);
        for (int i = 0; i < x.length; i++) {
            int c = i / plane % mean.length;
            y.add(i, (x[i] - mean[c]) / std[c], (Math.abs(x[i]) + Math.abs(mean[c])) / std[c]);
        }
        return y;
    }

    /** Parameter and moments after one step of Adam. */
    record AdamState(Expected parameter, Expected moment1, Expected moment2) { }

    static AdamState adam(double[] p, double[] g, double[] m, double[] v, double[] control,
        AdamConstants constants) {
        if (control[StepControl.OVERFLOW] != 0) {
            return new AdamState(Expected.exactly(p), Expected.exactly(m), Expected.exactly(v));
        }
        double t = control[StepControl.COUNT];
        double beta1 = constants.beta1();
        double beta2 = constants.beta2();
        Expected moment1 = Expected.sums(p.length, 2);
        Expected moment2 = Expected.sums(p.length, 2);
        Expected parameter = Expected.sums(p.length, 4).plus(p);
        for (int i = 0; i < p.length; i++) {
            moment1.add(i, beta1 * m[i]);
            moment1.add(i, (1 - beta1) * g[i]);
            moment2.add(i, beta2 * v[i]);
            moment2.add(i, (1 - beta2) * g[i] * g[i]);
            double step = control[StepControl.LEARNING_RATE] / (1 - Math.pow(beta1, t))
                / (Math.sqrt(moment2.value(i)) / Math.sqrt(1 - Math.pow(beta2, t)) + constants.epsilon());
            parameter.add(i, -step * moment1.value(i), step * moment1.magnitude(i));
        }
        return new AdamState(parameter, moment1, moment2);
    }
}
