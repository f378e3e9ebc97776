package org.isobar.verify;

import static org.isobar.verify.ReferenceDevice.load;
import static org.isobar.verify.ReferenceDevice.write;
import static org.isobar.verify.ReferenceTensorOps.before;
import static org.isobar.verify.ReferenceTensorOps.extent;

import java.util.Arrays;
import java.util.List;
import java.util.function.DoubleUnaryOperator;
import java.util.function.Function;

import org.isobar.device.AdamConstants;
import org.isobar.device.Dropout;
import org.isobar.device.Epilogue;
import org.isobar.device.LossScaling;
import org.isobar.device.PatchShape;
import org.isobar.device.StepControl;
import org.isobar.device.TensorOps;
import org.isobar.device.Write;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Operations with a mistake: a rounding in one place too many, a term dropped, a case forgotten. The contract must see
 * every one.
 *
 * @param what       the mistake
 * @param types      in which it is one
 * @param operations that make it
 * @param ops        all operations, with the mistake
 */
record Spoiled(String what, List<DType> types, List<String> operations, TensorOps ops) {
    private static final List<DType> ALL = List.of(DType.F32, DType.F16, DType.BF16);
    private static final List<DType> NARROW = List.of(DType.F16, DType.BF16);
    private static final List<DType> SINGLE = List.of(DType.F32);

    /** All of them. */
    static List<Spoiled> all() {
        return List.of(
            new Spoiled("rounds products before adding", NARROW, List.of("linear", "linearBackwardInput"),
                new RoundsProducts()),
            new Spoiled("drops the last term", ALL, List.of("linear"), new DropsATerm()),
            new Spoiled("keeps gradients in 16 bits", NARROW,
                List.of("linearBackwardWeight", "biasBackward", "biasGeluBackward", "layerNormBackward"),
                new NarrowGradients()),
            new Spoiled("takes in operands by TF32, unsaid", SINGLE, List.of("linear", "attention",
                "attentionBackward"), new RoundsOperands(11)),
            new Spoiled("rounds before gamma and beta", NARROW, List.of("layerNorm"), new RoundsBeforeGamma()),
            new Spoiled("keeps the stream in 16 bits", NARROW, List.of("residual", "residualLayerNorm",
                "residualBackward"), new NarrowStream()),
            new Spoiled("rounds factors", NARROW, List.of("dropout"), new RoundsFactors()),
            new Spoiled("is the tanh form", ALL, List.of("gelu", "biasGeluBackward"), new TanhGelu()),
            new Spoiled("sums before rounding", NARROW, List.of("biasGeluBackward"), new SumsBeforeRounding()),
            new Spoiled("rounds scores", NARROW, List.of("attention", "attentionBackward"), attention(a ->
                new RoundingAttention.Roundings(x -> x, to(a), to(a), to(a), x -> x))),
            new Spoiled("rounds the mean", NARROW, List.of("attentionBackward"), attention(a ->
                new RoundingAttention.Roundings(x -> x, x -> x, to(a), to(a), to(a)))),
            new Spoiled("drops the mean", ALL, List.of("attentionBackward"), attention(a ->
                new RoundingAttention.Roundings(x -> x, x -> x, to(a), to(a), x -> 0))),
            new Spoiled("drops small probabilities", ALL, List.of("attention", "attentionBackward"), attention(a ->
                new RoundingAttention.Roundings(x -> x, x -> x, x -> x < 0.01 ? 0 : x, to(a), x -> x))),
            new Spoiled("cuts off", ALL, List.of("cast"), new CutsOff()),
            new Spoiled("cuts off", NARROW, List.of("patchify"), new CutsOff()),
            new Spoiled("copies the former parameters", NARROW, List.of("adam"), new CopiesTooEarly()),
            new Spoiled("moves in spite of an overflow", ALL, List.of("adam"), new IgnoresOverflow()),
            new Spoiled("forgets another's overflow", SINGLE, List.of("unscale"), new ForgetsOverflow()),
            new Spoiled("looks for infinities alone", SINGLE, List.of("unscale"), new SeesNoNaN()),
            new Spoiled("keeps the row on overflow", SINGLE, List.of("advance"), new KeepsTheRow()),
            new Spoiled("lets the scale become infinite", SINGLE, List.of("advance"), new GrowsToInfinity()),
            new Spoiled("takes an infinite loss for a finite one", SINGLE, List.of("advance"), new BearsInfinity()),
            new Spoiled("goes on when it has halted", SINGLE, List.of("advance"), new GoesOn()),
            new Spoiled("counts the step that halts it", SINGLE, List.of("advance"), new CountsTheHalt()));
    }

    private static DoubleUnaryOperator to(DType a) {
        return x -> Numbers.round(x, a);
    }

    private static double[] rounded(double[] x, DType a) {
        return Arrays.stream(x).map(to(a)).toArray();
    }

    private static TensorOps attention(Function<DType, RoundingAttention.Roundings> roundings) {
        return new ReferenceTensorOps() {
            @Override
            RoundingAttention.Roundings roundings(DType a) {
                return roundings.apply(a);
            }
        };
    }

    private static final class RoundsProducts extends ReferenceTensorOps {
        @Override
        public void linear(Tensor y, Tensor x, Tensor weight, Epilogue epilogue) {
            super.linear(y, x, weight, epilogue);
            if (epilogue instanceof Epilogue.Bias(Tensor bias)) {
                double[] sum = rounded(
                    ReferenceProducts.linear(load(x), load(weight), extent(x, -1), 0).values(), x.dtype());
                double[] b = load(bias);
                Arrays.setAll(sum, i -> sum[i] + b[i % b.length]);
                write(y, sum);
            }
        }

        @Override
        public void linearBackwardInput(Tensor dx, Tensor dy, Tensor weight, Write write) {
            double[] sum = before(dx, write);
            super.linearBackwardInput(dx, dy, weight, Write.OVERWRITE);
            double[] product = load(dx);
            Arrays.setAll(sum, i -> sum[i] + product[i]);
            write(dx, sum);
        }
    }

    private static final class DropsATerm extends ReferenceTensorOps {
        @Override
        public void linear(Tensor y, Tensor x, Tensor weight, Epilogue epilogue) {
            int k = extent(x, -1);
            double[] all = load(x);
            double[] spoiled = all.clone();
            Arrays.setAll(spoiled, i -> i % k == k - 1 ? 0 : all[i]);
            write(x, spoiled);
            super.linear(y, x, weight, epilogue);
            write(x, all);
        }
    }

    /** As tensor cores take in single precision; with 11 bits, TF32. */
    static final class RoundsOperands extends ReferenceTensorOps {
        private final int precision; // bits

        RoundsOperands(int precision) {
            this.precision = precision;
        }

        private double round(double x) {
            double unit = Math.scalb(1.0, Math.getExponent(x) + 1 - precision);
            return Math.rint(x / unit) * unit;
        }

        @Override
        public void linear(Tensor y, Tensor x, Tensor weight, Epilogue epilogue) {
            double[] all = load(x);
            double[] weights = load(weight);
            write(x, Arrays.stream(all).map(this::round).toArray());
            write(weight, Arrays.stream(weights).map(this::round).toArray());
            super.linear(y, x, weight, epilogue);
            write(x, all);
            write(weight, weights);
        }

        @Override
        RoundingAttention.Roundings roundings(DType a) {
            return new RoundingAttention.Roundings(this::round, x -> x, this::round, this::round, x -> x);
        }
    }

    private static final class NarrowGradients extends ReferenceTensorOps {
        @Override
        public void linearBackwardWeight(Tensor dWeight, Tensor dy, Tensor x) {
            super.linearBackwardWeight(dWeight, dy, x);
            write(dWeight, rounded(load(dWeight), dy.dtype()));
        }

        @Override
        public void biasBackward(Tensor dBias, Tensor dy) {
            super.biasBackward(dBias, dy);
            write(dBias, rounded(load(dBias), dy.dtype()));
        }

        @Override
        public void layerNormBackward(Tensor dx, Tensor dGamma, Tensor dBeta, Tensor dy, Tensor x, Tensor mean,
            Tensor invStd, Tensor gamma, Write write) {
            super.layerNormBackward(dx, dGamma, dBeta, dy, x, mean, invStd, gamma, write);
            write(dx, rounded(load(dx), dy.dtype()));
        }
    }

    private static final class RoundsBeforeGamma extends ReferenceTensorOps {
        @Override
        public void layerNorm(Tensor y, Tensor mean, Tensor invStd, Tensor x, Tensor gamma, Tensor beta,
            double epsilon) {
            super.layerNorm(y, mean, invStd, x, gamma, beta, epsilon);
            double[] xs = load(x);
            double[] m = load(mean);
            double[] s = load(invStd);
            double[] g = load(gamma);
            double[] b = load(beta);
            int c = g.length;
            Arrays.setAll(xs, i -> Numbers.round((xs[i] - m[i / c]) * s[i / c], y.dtype()) * g[i % c] + b[i % c]);
            write(y, xs);
        }
    }

    private static final class NarrowStream extends ReferenceTensorOps {
        @Override
        public void residual(Tensor y, Tensor x, Tensor branch, Dropout dropPath) {
            super.residual(y, x, branch, dropPath);
            write(y, rounded(load(y), branch.dtype()));
        }

        @Override
        public void residualBackward(Tensor dBranch, Tensor dy, Dropout dropPath) {
            double[] upstream = load(dy);
            write(dy, rounded(upstream, dBranch.dtype()));
            super.residualBackward(dBranch, dy, dropPath);
            if (!dy.aliases(dBranch)) {
                write(dy, upstream);
            }
        }
    }

    private static final class RoundsFactors extends ReferenceTensorOps {
        @Override
        public void dropout(Tensor y, Tensor x, Dropout dropout) {
            double[] all = load(x);
            super.dropout(y, x, dropout);
            double[] masked = load(y);
            double factor = Numbers.round(1 / (1 - dropout.probability()), x.dtype());
            Arrays.setAll(masked, i -> masked[i] == 0 ? 0 : factor * all[i]);
            write(y, masked);
        }
    }

    private static final class TanhGelu extends ReferenceTensorOps {
        @Override
        public void gelu(Tensor y, Tensor x) {
            write(y, Arrays.stream(load(x)).map(u ->
                u / 2 * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (u + 0.044715 * u * u * u)))).toArray());
        }
    }

    private static final class SumsBeforeRounding extends ReferenceTensorOps {
        @Override
        public void biasGeluBackward(Tensor dx, Tensor y, Tensor dBias, Tensor dy, Tensor x) {
            double[] unrounded = ReferenceOps.geluBackward(load(dy), load(x)).values();
            double[] sums = ReferenceProducts.columnSums(load(dBias), unrounded).values();
            super.biasGeluBackward(dx, y, dBias, dy, x);
            write(dBias, sums);
        }
    }

    private static final class CutsOff extends ReferenceTensorOps {
        @Override
        public void cast(Tensor y, Tensor x) {
            super.cast(y, x);
            cutOff(y, load(y), load(x));
        }

        private static void cutOff(Tensor y, double[] nearest, double[] xs) {
            double relative = 1.5 * Numbers.roundoff(y.dtype()); // less than a unit in the last place, more than half
            double absolute = 1.5 * Numbers.underflow(y.dtype());
            Arrays.setAll(nearest, i -> Math.abs(nearest[i]) > Math.abs(xs[i])
                ? nearest[i] * (1 - relative) - Math.copySign(absolute, nearest[i]) : nearest[i]);
            write(y, nearest);
        }

        @Override
        public void patchify(Tensor tokens, Tensor image, PatchShape shape) {
            super.patchify(tokens, image, shape);
            cutOff(tokens, load(tokens), ReferenceImages.patchify(load(image), shape).values());
        }
    }

    private static final class CopiesTooEarly extends ReferenceTensorOps {
        @Override
        public void adam(Tensor parameter, Tensor copy, Tensor gradient, Tensor moment1, Tensor moment2,
            Tensor control, AdamConstants constants) {
            double[] former = load(parameter);
            super.adam(parameter, copy, gradient, moment1, moment2, control, constants);
            if (copy.dtype() != DType.F32) {
                write(copy, former);
            }
        }
    }

    private static final class IgnoresOverflow extends ReferenceTensorOps {
        @Override
        public void adam(Tensor parameter, Tensor copy, Tensor gradient, Tensor moment1, Tensor moment2,
            Tensor control, AdamConstants constants) {
            double[] steering = load(control);
            StepControl view = new StepControl(control);
            fill(view.overflow(), 0);
            super.adam(parameter, copy, gradient, moment1, moment2, control, constants);
            write(control, steering);
        }
    }

    private static final class ForgetsOverflow extends ReferenceTensorOps {
        @Override
        public void unscale(Tensor gradient, Tensor overflow, Tensor scale) {
            fill(overflow, 0);
            super.unscale(gradient, overflow, scale);
        }
    }

    private static final class SeesNoNaN extends ReferenceTensorOps {
        @Override
        public void unscale(Tensor gradient, Tensor overflow, Tensor scale) {
            double[] flag = load(overflow);
            super.unscale(gradient, overflow, scale);
            if (Arrays.stream(load(gradient)).noneMatch(Double::isInfinite)) {
                write(overflow, flag);
            }
        }
    }

    private static final class KeepsTheRow extends ReferenceTensorOps {
        @Override
        public void advance(Tensor control, Tensor loss, LossScaling scaling) {
            double[] former = load(control);
            super.advance(control, loss, scaling);
            if (former[StepControl.OVERFLOW] != 0) {
                double[] after = load(control);
                after[StepControl.GOOD_STEPS] = former[StepControl.GOOD_STEPS];
                write(control, after);
            }
        }
    }

    private static final class GrowsToInfinity extends ReferenceTensorOps {
        @Override
        public void advance(Tensor control, Tensor loss, LossScaling scaling) {
            double[] former = load(control);
            super.advance(control, loss, scaling);
            double[] after = load(control);
            if (after[StepControl.GOOD_STEPS] == 0 && former[StepControl.OVERFLOW] == 0) {
                after[StepControl.SCALE] = former[StepControl.SCALE] * scaling.growth();
                write(control, after);
            }
        }
    }

    private static final class BearsInfinity extends ReferenceTensorOps {
        @Override
        public void advance(Tensor control, Tensor loss, LossScaling scaling) {
            double[] value = load(loss);
            write(loss, new double[] {Double.isInfinite(value[0]) ? Double.MAX_VALUE : value[0]});
            super.advance(control, loss, scaling);
            write(loss, value);
        }
    }

    private static final class GoesOn extends ReferenceTensorOps {
        @Override
        public void advance(Tensor control, Tensor loss, LossScaling scaling) {
            double[] former = load(control);
            super.advance(control, loss, scaling);
            if (former[StepControl.HALT] == StepControl.HALTED) {
                write(control, former);
            }
        }
    }

    private static final class CountsTheHalt extends ReferenceTensorOps {
        @Override
        public void advance(Tensor control, Tensor loss, LossScaling scaling) {
            double[] former = load(control);
            super.advance(control, loss, scaling);
            double[] after = load(control);
            if (former[StepControl.HALT] != after[StepControl.HALT]) {
                after[StepControl.SKIPPED]++;
                write(control, after);
            }
        }
    }
}
