package org.isobar.verify;

import static org.isobar.verify.ReferenceDevice.load;
import static org.isobar.verify.ReferenceDevice.write;

import java.util.Arrays;

import org.isobar.device.AdamConstants;
import org.isobar.device.AttentionShape;
import org.isobar.device.Dropout;
import org.isobar.device.Epilogue;
import org.isobar.device.LossScaling;
import org.isobar.device.PatchShape;
import org.isobar.device.StepControl;
import org.isobar.device.TensorOps;
import org.isobar.device.Write;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** The operations by the contract's own references: in double precision, each result rounded when it is stored. */
class ReferenceTensorOps implements TensorOps {
    @Override
    public void fill(Tensor y, double value) {
        double[] values = new double[Math.toIntExact(y.elements())];
        Arrays.fill(values, value);
        write(y, values);
    }

    @Override
    public void copy(Tensor y, Tensor x) {
        write(y, load(x));
    }

    @Override
    public void cast(Tensor y, Tensor x) {
        write(y, load(x));
    }

    @Override
    public void transposeOuter(Tensor y, Tensor x) {
        write(y, ReferenceOps.transposed(load(x), extent(x, 0), extent(x, 1), extent(x, 2)));
    }

    @Override
    public void linear(Tensor y, Tensor x, Tensor weight, Epilogue epilogue) {
        Expected product = ReferenceProducts.linear(load(x), load(weight), extent(x, -1), 0);
        switch (epilogue) {
            case Epilogue.None none -> write(y, product.values());
            case Epilogue.Bias bias -> write(y, biased(product, bias.bias()));
            case Epilogue.BiasGelu gelu -> {
                write(gelu.preActivation(), biased(product, gelu.bias()));
                write(y, ReferenceOps.gelu(product.values()).values());
            }
        }
    }

    private static double[] biased(Expected product, Tensor bias) {
        double[] b = load(bias);
        for (int i = 0; i < product.size(); i++) {
            product.add(i, b[i % b.length]);
        }
        return product.values();
    }

    @Override
    public void linearBackwardInput(Tensor dx, Tensor dy, Tensor weight, Write write) {
        write(dx, ReferenceProducts.backwardInput(before(dx, write), load(dy), load(weight), extent(weight, -1), 0)
            .values());
    }

    /** What is added to. */
    static double[] before(Tensor output, Write write) {
        return write == Write.ADD ? load(output) : new double[Math.toIntExact(output.elements())];
    }

    @Override
    public void linearBackwardWeight(Tensor dWeight, Tensor dy, Tensor x) {
        write(dWeight, ReferenceProducts.backwardWeight(load(dWeight), load(dy), load(x), extent(x, -1), 0).values());
    }

    @Override
    public void biasBackward(Tensor dBias, Tensor dy) {
        write(dBias, ReferenceProducts.columnSums(load(dBias), load(dy)).values());
    }

    @Override
    public void layerNorm(Tensor y, Tensor mean, Tensor invStd, Tensor x, Tensor gamma, Tensor beta, double epsilon) {
        ReferenceLayerNorm norm = new ReferenceLayerNorm(load(x), extent(x, -1), epsilon);
        write(mean, norm.mean());
        write(invStd, norm.invStd());
        write(y, norm.forward(load(gamma), load(beta)).values());
    }

    @Override
    public void layerNormRecompute(Tensor y, Tensor x, Tensor mean, Tensor invStd, Tensor gamma, Tensor beta) {
        write(y, new ReferenceLayerNorm(load(x), extent(x, -1), load(mean), load(invStd))
            .forward(load(gamma), load(beta)).values());
    }

    @Override
    public void layerNormBackward(Tensor dx, Tensor dGamma, Tensor dBeta, Tensor dy, Tensor x, Tensor mean,
        Tensor invStd, Tensor gamma, Write write) {
        ReferenceLayerNorm norm = new ReferenceLayerNorm(load(x), extent(x, -1), load(mean), load(invStd));
        write(dx, norm.input(before(dx, write), load(dy), load(gamma)).values());
        write(dGamma, norm.gamma(load(dGamma), load(dy)).values());
        write(dBeta, norm.beta(load(dBeta), load(dy)).values());
    }

    @Override
    public void residualLayerNorm(Tensor y, Tensor z, Tensor mean, Tensor invStd, Tensor x, Tensor branch,
        Dropout dropPath, Tensor gamma, Tensor beta, double epsilon) {
        residual(z, x, branch, dropPath);
        layerNorm(y, mean, invStd, z, gamma, beta, epsilon);
    }

    @Override
    public void gelu(Tensor y, Tensor x) {
        write(y, ReferenceOps.gelu(load(x)).values());
    }

    @Override
    public void biasGeluBackward(Tensor dx, Tensor y, Tensor dBias, Tensor dy, Tensor x) {
        write(dx, ReferenceOps.geluBackward(load(dy), load(x)).values());
        gelu(y, x);
        biasBackward(dBias, dx);
    }

    @Override
    public void attention(Tensor out, Tensor lse, Tensor q, Tensor kv, AttentionShape shape, Dropout dropout) {
        double[] outs = new double[Math.toIntExact(out.elements())];
        double[] logSums = new double[Math.toIntExact(lse.elements())];
        new RoundingAttention(shape, mask(shape, dropout), roundings(q.dtype()))
            .forward(outs, logSums, load(q), load(kv));
        write(out, outs);
        write(lse, logSums);
    }

    @Override
    public void attentionBackward(Tensor dq, Tensor dkv, Tensor dOut, Tensor q, Tensor kv, Tensor out, Tensor lse,
        AttentionShape shape, Dropout dropout) {
        double[] dqs = new double[Math.toIntExact(dq.elements())];
        double[] dkvs = new double[Math.toIntExact(dkv.elements())];
        new RoundingAttention(shape, mask(shape, dropout), roundings(q.dtype()))
            .backward(dqs, dkvs, load(dOut), load(q), load(kv), load(out), load(lse));
        write(dq, dqs);
        write(dkv, dkvs);
    }

    private static double[] mask(AttentionShape shape, Dropout dropout) {
        return ReferenceOps.mask(dropout, (int) shape.batch(), (int) shape.heads(), (int) shape.queries(),
            (int) shape.keys());
    }

    /** Where attention rounds on its way: what goes into its second products, to the type of the operands. */
    RoundingAttention.Roundings roundings(DType a) {
        return new RoundingAttention.Roundings(x -> x, x -> x, x -> Numbers.round(x, a), x -> Numbers.round(x, a),
            x -> x);
    }

    @Override
    public void patchify(Tensor tokens, Tensor image, PatchShape shape) {
        write(tokens, ReferenceImages.patchify(load(image), shape).values());
    }

    @Override
    public void unpatchify(Tensor image, Tensor tokens, PatchShape shape) {
        write(image, ReferenceImages.unpatchify(load(tokens), shape).values());
    }

    @Override
    public void addPositions(Tensor y, Tensor x, Tensor positions) {
        write(y, ReferenceOps.addPositions(load(x), load(positions)).values());
    }

    @Override
    public void addPositionsBackward(Tensor dPositions, Tensor dy) {
        write(dPositions, ReferenceOps.addPositionsBackward(load(dPositions), load(dy)).values());
    }

    @Override
    public void residual(Tensor y, Tensor x, Tensor branch, Dropout dropPath) {
        write(y, ReferenceOps.residual(load(x), load(branch), ReferenceOps.mask(dropPath, extent(x, 0))).values());
    }

    @Override
    public void residualBackward(Tensor dBranch, Tensor dy, Dropout dropPath) {
        write(dBranch, ReferenceOps.masked(load(dy), ReferenceOps.mask(dropPath, extent(dy, 0))).values());
    }

    @Override
    public void dropout(Tensor y, Tensor x, Dropout dropout) {
        int[] extents = Arrays.stream(x.shape().extents()).mapToInt(Math::toIntExact).toArray();
        write(y, ReferenceOps.masked(load(x), ReferenceOps.mask(dropout, extents)).values());
    }

    @Override
    public void relativeL2Loss(Tensor loss, Tensor norms, Tensor prediction, Tensor target) {
        double[] both = ReferenceImages.norms(load(prediction), load(target), extent(target, 0)).values();
        write(norms, both);
        write(loss, ReferenceImages.loss(both, 1).values());
    }

    @Override
    public void relativeL2LossBackward(Tensor dPrediction, Tensor prediction, Tensor target, Tensor norms,
        Tensor scale) {
        write(dPrediction, ReferenceImages.lossBackward(load(prediction), load(target), load(norms), load(scale)[0])
            .values());
    }

    @Override
    public void weightedRmse(Tensor rmse, Tensor prediction, Tensor target) {
        write(rmse, ReferenceImages.weightedRmse(load(prediction), load(target), extent(target, 0), extent(target, 1),
            extent(target, 2), extent(target, 3)).values());
    }

    @Override
    public void normalize(Tensor y, Tensor x, Tensor mean, Tensor std) {
        write(y, ReferenceOps.normalized(load(x), load(mean), load(std), extent(x, 2) * extent(x, 3)).values());
    }

    @Override
    public void unscale(Tensor gradient, Tensor overflow, Tensor scale) {
        double[] unscaled = ReferenceOps.unscaled(load(gradient), load(scale)[0]).values();
        write(gradient, unscaled);
        if (!Arrays.stream(unscaled).allMatch(Double::isFinite)) {
            fill(overflow, 1);
        }
    }

    @Override
    public void advance(Tensor control, Tensor loss, LossScaling scaling) {
        double[] c = load(control);
        boolean finite = Double.isFinite(load(loss)[0]);
        if (!finite && c[StepControl.HALT] == StepControl.ARMED) {
            c[StepControl.HALT] = StepControl.HALTED;
        }
        boolean halted = c[StepControl.HALT] == StepControl.HALTED;
        if (!finite || halted) {
            c[StepControl.OVERFLOW] = 1;
        }
        if (halted) {
            write(control, c);
            return;
        }
        if (c[StepControl.OVERFLOW] != 0) {
            c[StepControl.SCALE] *= scaling.backoff();
            c[StepControl.GOOD_STEPS] = 0;
            c[StepControl.SKIPPED]++;
        } else {
            c[StepControl.COUNT]++;
            if (++c[StepControl.GOOD_STEPS] == scaling.interval()) {
                c[StepControl.GOOD_STEPS] = 0;
                double grown = c[StepControl.SCALE] * scaling.growth();
                c[StepControl.SCALE] = Float.isFinite((float) grown) ? grown : c[StepControl.SCALE];
            }
        }
        write(control, c);
    }

    @Override
    public void adam(Tensor parameter, Tensor copy, Tensor gradient, Tensor moment1, Tensor moment2, Tensor control,
        AdamConstants constants) {
        ReferenceOps.AdamState state = ReferenceOps.adam(load(parameter), load(gradient), load(moment1), load(moment2),
            load(control), constants);
        write(parameter, state.parameter().values());
        write(moment1, state.moment1().values());
        write(moment2, state.moment2().values());
        if (copy.dtype() != DType.F32) {
            write(copy, load(parameter));
        }
    }

    /** Extent of a dimension; negative ones count from the end. */
    static int extent(Tensor x, int dim) {
        return Math.toIntExact(x.shape().extent(dim));
    }
}
