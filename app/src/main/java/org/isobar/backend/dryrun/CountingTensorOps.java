package org.isobar.backend.dryrun;

import java.util.EnumSet;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;

import org.isobar.device.Footprint;
import org.isobar.device.ops.AdamConstants;
import org.isobar.device.ops.AttentionOps;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.BiasedGradient;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.ImageOps;
import org.isobar.device.ops.LossOps;
import org.isobar.device.ops.LossScaling;
import org.isobar.device.ops.MemoryOps;
import org.isobar.device.ops.NormOps;
import org.isobar.device.ops.PatchShape;
import org.isobar.device.ops.ProductOps;
import org.isobar.device.ops.ProductShape;
import org.isobar.device.ops.ProductShape.Ending;
import org.isobar.device.ops.RecomputedNorm;
import org.isobar.device.ops.ResidualOps;
import org.isobar.device.ops.TensorOps;
import org.isobar.device.ops.UpdateOps;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Counts the work of operations without computing them: floating-point operations of matrix products and attention (a
 * multiply-add counts as two), bytes, and the largest extents. Two things are not counted: what attention recomputes in
 * its backward pass, and the arithmetic of all other operations, which is comparatively small. Each tensor that is read
 * or written counts once in bytes, which is the minimum that any implementation must move.
 */
final class CountingTensorOps implements MemoryOps, ProductOps, NormOps, AttentionOps, ImageOps, ResidualOps, LossOps,
    UpdateOps {
    private double flops;
    private double bytes;
    private long widestRow;
    private long largestWeight;
    private long largestImages;
    private long imagePlanes;
    private final Set<Long> normWidths = new HashSet<>();
    private final Set<AttentionShape> attention = new HashSet<>();
    private final Set<DType> differentiated = EnumSet.noneOf(DType.class);
    private final Set<ProductShape> products = new HashSet<>();

    /** Returns these operations by family. All families share one count. */
    TensorOps byFamily() {
        return new TensorOps(this, this, this, this, this, this, this, this);
    }

    double flops() {
        return flops;
    }

    double bytes() {
        return bytes;
    }

    Footprint footprint() {
        return new Footprint(widestRow, largestWeight, largestImages, imagePlanes, normWidths, attention,
            differentiated, products);
    }

    private void see(Tensor... tensors) {
        for (Tensor tensor : tensors) {
            widestRow = Math.max(widestRow, tensor.shape().extent(-1));
        }
    }

    private void moves(Tensor... tensors) {
        for (Tensor tensor : tensors) {
            bytes += tensor.bytes();
        }
    }

    /** Counts an output; with {@link WriteMode#ADD} it is also read. */
    private void moves(Tensor output, WriteMode write) {
        bytes += (write == WriteMode.ADD ? 2 : 1) * output.bytes();
    }

    private void norm(Tensor gamma, Tensor... rows) {
        normWidths.add(gamma.elements());
        see(rows);
    }

    private void score(Tensor prediction, Tensor target) {
        see(prediction, target);
        largestImages = Math.max(largestImages, prediction.elements());
        imagePlanes = Math.max(imagePlanes, prediction.shape().extent(0) * prediction.shape().extent(1));
    }

    private void product(long m, long n, long k) {
        flops += 2.0 * m * n * k;
    }

    /** Counts attention. The heads are adjacent in memory, so a row contains all of them. */
    private void attention(AttentionShape shape, double productsOfTwo) {
        attention.add(shape);
        widestRow = Math.max(widestRow, shape.heads() * shape.headDim());
        flops += 2 * productsOfTwo * shape.batch() * shape.heads() * shape.queries() * shape.keys() * shape.headDim();
    }

    /** Flat ranges, such as all gradients, have no rows. */
    @Override
    public void fill(Tensor y, double value) {
        moves(y);
    }

    /** Flat ranges have no rows. */
    @Override
    public void copy(Tensor y, Tensor x) {
        moves(y, x);
    }

    @Override
    public void linear(Tensor y, Tensor x, Tensor weight, Epilogue epilogue) {
        moves(y, x, weight);
        products.add(switch (epilogue) {
            case Epilogue.None _ -> ProductShape.forward(y, x, weight, Ending.PLAIN);
            case Epilogue.Bias _ -> ProductShape.forward(y, x, weight, Ending.BIAS);
            case Epilogue.BiasGelu(Tensor _, Tensor preActivation) -> {
                moves(preActivation);
                yield ProductShape.forward(preActivation, x, weight, Ending.BIAS);
            }
        });
        see(y, x, weight);
        long n = weight.shape().extent(0);
        largestWeight = Math.max(largestWeight, Footprint.packed(n) * Footprint.packed(weight.elements() / n));
        product(x.shape().rows(), weight.shape().rows(), x.shape().extent(-1));
    }

    @Override
    public void linearBackwardInput(Tensor dx, Tensor dy, Tensor weight, WriteMode write) {
        moves(dx, write);
        moves(dy, weight);
        see(dx, dy, weight);
        products.add(ProductShape.inputGradient(dx, dy, weight, write));
        product(dy.shape().rows(), dy.shape().extent(-1), weight.shape().extent(-1));
    }

    @Override
    public void linearBackwardWeight(Tensor dWeight, Tensor dy, Tensor x) {
        weightGradient(dWeight, dy, x, Ending.PLAIN);
    }

    private void weightGradient(Tensor dWeight, Tensor dy, Tensor x, Ending ending) {
        moves(dWeight, WriteMode.ADD);
        moves(dy, x);
        see(dWeight, dy, x);
        products.add(ProductShape.weightGradient(dWeight, dy, x, ending));
        product(dy.shape().rows(), dy.shape().extent(-1), x.shape().extent(-1));
    }

    @Override
    public void linearBackwardParameters(Tensor dWeight, Tensor dBias, Tensor dy, Tensor x) {
        weightGradient(dWeight, dy, x, Ending.BIAS_GRADIENT);
        moves(dBias, WriteMode.ADD);
    }

    @Override
    public void biasBackward(Tensor dBias, Tensor dy) {
        moves(dBias, WriteMode.ADD);
        moves(dy);
        see(dBias, dy);
    }

    @Override
    public void layerNorm(Tensor y, Tensor mean, Tensor invStd, Tensor x, Tensor gamma, Tensor beta, double epsilon) {
        moves(y, mean, invStd, x, gamma, beta);
        norm(gamma, y, x);
    }

    @Override
    public void layerNormRecompute(Tensor y, Tensor x, Tensor mean, Tensor invStd, Tensor gamma, Tensor beta) {
        moves(y, x, mean, invStd, gamma, beta);
        norm(gamma, y, x);
    }

    @Override
    public void layerNormBackward(Tensor dx, Tensor dGamma, Tensor dBeta, Tensor dy, Tensor x, Tensor mean,
        Tensor invStd, Tensor gamma, WriteMode write, Optional<RecomputedNorm> output) {
        moves(dx, write);
        moves(dGamma, WriteMode.ADD);
        moves(dBeta, WriteMode.ADD);
        moves(dy, x, mean, invStd, gamma);
        output.ifPresent(recomputed -> moves(recomputed.y(), recomputed.beta()));
        norm(gamma, dx, dGamma, dBeta, dy, x);
    }

    @Override
    public void biasGeluBackward(Tensor dx, Tensor y, Tensor dBias, Tensor dy, Tensor x) {
        moves(dBias, WriteMode.ADD);
        moves(dx, y, dy, x);
        see(dx, y, dBias, dy, x);
    }

    /** Two products: scores and values. */
    @Override
    public void attention(Tensor out, Tensor lse, Tensor q, Tensor kv, AttentionShape shape, Dropout dropout) {
        moves(out, lse, q, kv);
        attention(shape, 2);
    }

    /** Four products: gradients of values, probabilities, queries and keys. */
    @Override
    public void attentionBackward(Tensor dq, Tensor dkv, Tensor dOut, Tensor q, Tensor kv, Tensor out, Tensor lse,
        AttentionShape shape, Dropout dropout) {
        moves(dq, dkv, dOut, q, kv, out, lse);
        differentiated.add(q.dtype());
        attention(shape, 4);
    }

    @Override
    public void patchify(Tensor tokens, Tensor image, PatchShape shape) {
        moves(tokens, image);
        see(tokens, image);
    }

    @Override
    public void unpatchify(Tensor image, Tensor tokens, PatchShape shape) {
        moves(image, tokens);
        see(image, tokens);
    }

    @Override
    public void addPositions(Tensor y, Tensor x, Tensor positions) {
        moves(y, x, positions);
        see(y, x, positions);
    }

    @Override
    public void addPositionsBackward(Tensor dPositions, Tensor dy) {
        moves(dPositions, WriteMode.ADD);
        moves(dy);
        see(dPositions, dy);
    }

    @Override
    public void residual(Tensor y, Tensor x, Tensor branch, Dropout dropPath) {
        moves(y, x, branch);
        see(y, x, branch);
    }

    @Override
    public void residualBackward(Tensor dBranch, Tensor dy, Dropout dropPath) {
        moves(dBranch, dy);
        see(dBranch, dy);
    }

    @Override
    public void dropout(Tensor y, Tensor x, Dropout dropout) {
        moves(y, x);
        see(y, x);
    }

    @Override
    public void relativeL2Loss(Tensor loss, Tensor norms, long first, Tensor prediction, Tensor target) {
        moves(prediction, target);
        score(prediction, target);
    }

    @Override
    public void relativeL2LossBackward(Tensor dPrediction, Tensor prediction, Tensor target, Tensor norms, long first,
        Tensor scale) {
        moves(dPrediction, prediction, target);
        see(dPrediction, prediction, target);
    }

    @Override
    public void weightedRmse(Tensor rmse, Tensor prediction, Tensor target) {
        moves(prediction, target);
        score(prediction, target);
    }

    /** Flat ranges have no rows. */
    @Override
    public void cast(Tensor y, Tensor x) {
        moves(y, x);
    }

    @Override
    public void residualLayerNorm(Tensor y, Tensor z, Tensor mean, Tensor invStd, Tensor x, Tensor branch,
        Dropout dropPath, Tensor gamma, Tensor beta, double epsilon) {
        moves(y, z, mean, invStd, x, branch, gamma, beta);
        norm(gamma, y, z, x, branch);
    }

    @Override
    public void residualLayerNormBackward(Tensor dz, BiasedGradient dBranch, Tensor dGamma, Tensor dBeta, Tensor dy,
        Tensor z, Tensor mean, Tensor invStd, Tensor gamma, Optional<RecomputedNorm> output) {
        layerNormBackward(dz, dGamma, dBeta, dy, z, mean, invStd, gamma, WriteMode.ADD, output);
        moves(dBranch.gradient());
        moves(dBranch.dBias(), WriteMode.ADD);
        see(dBranch.gradient());
    }

    @Override
    public void normalize(Tensor y, Tensor x, Tensor mean, Tensor std) {
        moves(y, x, mean, std);
        see(y, x);
    }

    /** Flat ranges have no rows. */
    @Override
    public void unscale(Tensor gradient, Tensor overflow, Tensor scale, double divisor) {
        moves(gradient, WriteMode.ADD);
    }

    /** Not counted: a few numbers only. */
    @Override
    public void advance(Tensor control, Tensor loss, LossScaling scaling) { }

    /** Flat ranges have no rows. */
    @Override
    public void adam(Tensor parameter, Tensor copy, Tensor gradient, Tensor moment1, Tensor moment2, Tensor control,
        AdamConstants constants) {
        for (Tensor tensor : new Tensor[] {parameter, moment1, moment2}) {
            moves(tensor, WriteMode.ADD);
        }
        moves(gradient);
        if (!copy.aliases(parameter)) {
            moves(copy);
        }
    }
}
