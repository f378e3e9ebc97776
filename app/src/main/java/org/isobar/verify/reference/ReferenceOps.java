package org.isobar.verify.reference;

import java.util.function.IntToDoubleFunction;

import org.isobar.device.ops.AdamConstants;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.StepControl;
import org.isobar.random.Philox;

/**
 * The operations on plain arrays in double precision, element by element, directly from the formulas: activation,
 * positions, the residual stream, the update.
 */
public final class ReferenceOps {
    /** Roundings in the evaluation of a transcendental function. */
    private static final int FUNCTION_TERMS = 16;

    private ReferenceOps() { }

    /** Computes each element separately, from a few terms. */
    static ExpectedTensor map(int count, IntToDoubleFunction f) {
        ExpectedTensor y = ExpectedTensor.sums(count, 1);
        for (int i = 0; i < count; i++) {
            y.add(i, f.applyAsDouble(i));
        }
        return y;
    }

    /** GELU. In the negative tail 1 + erf cancels, hence the magnitude. */
    public static ExpectedTensor gelu(double[] x) {
        ExpectedTensor y = ExpectedTensor.sums(x.length, FUNCTION_TERMS);
        for (int i = 0; i < x.length; i++) {
            y.add(i, x[i] * NormalDistribution.cumulative(x[i]), Math.abs(x[i]));
        }
        return y;
    }

    public static ExpectedTensor geluBackward(double[] dy, double[] x) {
        ExpectedTensor dx = ExpectedTensor.sums(x.length, FUNCTION_TERMS);
        for (int i = 0; i < x.length; i++) {
            double slope = NormalDistribution.cumulative(x[i]) + x[i] * NormalDistribution.density(x[i]);
            dx.add(i, dy[i] * slope, Math.abs(dy[i]));
        }
        return dx;
    }

    public static ExpectedTensor addPositions(double[] x, double[] positions) {
        ExpectedTensor y = ExpectedTensor.sums(x.length, 2);
        for (int i = 0; i < x.length; i++) {
            y.add(i, x[i]);
            y.add(i, positions[i % positions.length]);
        }
        return y;
    }

    public static ExpectedTensor addPositionsBackward(double[] dPositions, double[] dy) {
        ExpectedTensor sum = ExpectedTensor.sums(dPositions.length, dy.length / dPositions.length).plus(dPositions);
        for (int i = 0; i < dy.length; i++) {
            sum.add(i % dPositions.length, dy[i]);
        }
        return sum;
    }

    /** Values of a mask over the given local extents, row-major. */
    public static double[] mask(Dropout dropout, int... extents) {
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

    public static ExpectedTensor residual(double[] x, double[] branch, double[] mask) {
        int sample = x.length / mask.length;
        ExpectedTensor y = ExpectedTensor.sums(x.length, 2).plus(x);
        for (int i = 0; i < x.length; i++) {
            y.add(i, mask[i / sample] * branch[i]);
        }
        return y;
    }

    public static ExpectedTensor masked(double[] x, double[] mask) {
        int each = x.length / mask.length;
        return map(x.length, i -> mask[i / each] * x[i]);
    }

    /** Unscaled gradients; infinite where the F32 result overflows. */
    public static ExpectedTensor unscaled(double[] gradient, double scale) {
        return map(gradient.length, i -> {
            double quotient = gradient[i] / scale;
            return Math.abs(quotient) > Float.MAX_VALUE ? Math.copySign(Double.POSITIVE_INFINITY, quotient) : quotient;
        });
    }

    /** (B, C, H, W), each channel normalized by its own mean and standard deviation; the planes are (H, W). */
    public static ExpectedTensor normalized(double[] x, double[] mean, double[] std, int plane) {
        ExpectedTensor y = ExpectedTensor.sums(x.length, 2);
        for (int i = 0; i < x.length; i++) {
            int c = i / plane % mean.length;
            y.add(i, (x[i] - mean[c]) / std[c], (Math.abs(x[i]) + Math.abs(mean[c])) / std[c]);
        }
        return y;
    }

    /** Parameter and moments after one step of Adam. */
    public record AdamState(ExpectedTensor parameter, ExpectedTensor moment1, ExpectedTensor moment2) { }

    public static AdamState adam(double[] p, double[] g, double[] m, double[] v, double[] control,
        AdamConstants constants) {
        if (control[StepControl.OVERFLOW] != 0) {
            return new AdamState(ExpectedTensor.exactly(p), ExpectedTensor.exactly(m), ExpectedTensor.exactly(v));
        }
        double t = control[StepControl.COUNT];
        double beta1 = constants.beta1();
        double beta2 = constants.beta2();
        ExpectedTensor moment1 = ExpectedTensor.sums(p.length, 2);
        ExpectedTensor moment2 = ExpectedTensor.sums(p.length, 2);
        ExpectedTensor parameter = ExpectedTensor.sums(p.length, 4).plus(p);
        for (int i = 0; i < p.length; i++) {
            double gradient = g[i] / constants.divisor();
            moment1.add(i, beta1 * m[i]);
            moment1.add(i, (1 - beta1) * gradient);
            moment2.add(i, beta2 * v[i]);
            moment2.add(i, (1 - beta2) * gradient * gradient);
            double step = control[StepControl.LEARNING_RATE] / (1 - Math.pow(beta1, t))
                / (Math.sqrt(moment2.value(i)) / Math.sqrt(1 - Math.pow(beta2, t)) + constants.epsilon());
            parameter.add(i, -step * moment1.value(i), step * moment1.magnitude(i));
        }
        return new AdamState(parameter, moment1, moment2);
    }
}
