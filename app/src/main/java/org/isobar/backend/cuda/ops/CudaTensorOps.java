package org.isobar.backend.cuda.ops;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;

import org.isobar.device.Footprint;
import org.isobar.device.ops.AdamConstants;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.LossScaling;
import org.isobar.device.ops.PatchShape;
import org.isobar.device.ops.TensorOps;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** The operations of a GPU: each stands in the class of its kind. */
public final class CudaTensorOps implements TensorOps, AutoCloseable {
    private final CudaElementwise elementwise;
    private final CublasLtGemm products;
    private final CudaColumnSums columnSums;
    private final CudaLayerNorm layerNorm;
    private final CudaGelu gelu;
    private final CudaAttention attention;
    private final CudaResidual residual;
    private final CudaPatches patches;
    private final CudaLoss losses;
    private final CudaAdam adam;

    /** Operations on the stream of the context's launcher, of the current CUDA context. */
    public CudaTensorOps(OpResources context) {
        elementwise = new CudaElementwise(context);
        columnSums = new CudaColumnSums(context);
        residual = new CudaResidual(context, elementwise);
        layerNorm = new CudaLayerNorm(context, columnSums, residual);
        gelu = new CudaGelu(context, columnSums);
        attention = new CudaAttention(context);
        patches = new CudaPatches(context);
        losses = new CudaLoss(context);
        adam = new CudaAdam(context);
        products = new CublasLtGemm(context, gelu);
    }

    /** Bytes that operations of that footprint need besides their arguments. */
    public static long workspaceBytes(Footprint footprint, CudaOptions options) {
        return LongStream.of(CudaColumnSums.workspaceBytes(footprint), CudaLayerNorm.workspaceBytes(footprint),
            CudaLoss.workspaceBytes(footprint), CublasLtGemm.workspaceBytes(footprint),
            CudaAttention.workspaceBytes(footprint, options.gradient())).max().orElseThrow();
    }

    /** Which kernels steps of that footprint run, in words: a line for each choice there was. */
    public List<String> description(Footprint footprint, DType compute) {
        List<String> lines = new ArrayList<>();
        lines.add(products.description(compute));
        lines.add(gelu.description());
        lines.addAll(layerNorm.description(footprint.normWidths()));
        lines.addAll(attention.description(footprint.attention(), compute));
        return lines;
    }

    @Override
    public void close() {
        products.close();
    }

    @Override
    public void cast(Tensor y, Tensor x) {
        elementwise.cast(y, x);
    }

    @Override
    public void residualLayerNorm(Tensor y, Tensor z, Tensor mean, Tensor invStd, Tensor x, Tensor branch,
        Dropout dropPath, Tensor gamma, Tensor beta, double epsilon) {
        layerNorm.residualLayerNorm(y, z, mean, invStd, x, branch, dropPath, gamma, beta, epsilon);
    }

    @Override
    public void normalize(Tensor y, Tensor x, Tensor mean, Tensor std) {
        patches.normalize(y, x, mean, std);
    }

    @Override
    public void unscale(Tensor gradient, Tensor overflow, Tensor scale) {
        adam.unscale(gradient, overflow, scale);
    }

    @Override
    public void advance(Tensor control, Tensor loss, LossScaling scaling) {
        adam.advance(control, loss, scaling);
    }

    @Override
    public void fill(Tensor y, double value) {
        elementwise.fill(y, value);
    }

    @Override
    public void copy(Tensor y, Tensor x) {
        elementwise.copy(y, x);
    }

    @Override
    public void transposeOuter(Tensor y, Tensor x) {
        elementwise.transposeOuter(y, x);
    }

    @Override
    public void linear(Tensor y, Tensor x, Tensor weight, Epilogue epilogue) {
        products.linear(y, x, weight, epilogue);
    }

    @Override
    public void linearBackwardInput(Tensor dx, Tensor dy, Tensor weight, WriteMode write) {
        products.linearBackwardInput(dx, dy, weight, write);
    }

    @Override
    public void linearBackwardWeight(Tensor dWeight, Tensor dy, Tensor x) {
        products.linearBackwardWeight(dWeight, dy, x);
    }

    @Override
    public void biasBackward(Tensor dBias, Tensor dy) {
        columnSums.biasBackward(dBias, dy);
    }

    @Override
    public void layerNorm(Tensor y, Tensor mean, Tensor invStd, Tensor x, Tensor gamma, Tensor beta, double epsilon) {
        layerNorm.layerNorm(y, mean, invStd, x, gamma, beta, epsilon);
    }

    @Override
    public void layerNormRecompute(Tensor y, Tensor x, Tensor mean, Tensor invStd, Tensor gamma, Tensor beta) {
        layerNorm.layerNormRecompute(y, x, mean, invStd, gamma, beta);
    }

    @Override
    public void layerNormBackward(Tensor dx, Tensor dGamma, Tensor dBeta, Tensor dy, Tensor x, Tensor mean,
        Tensor invStd, Tensor gamma, WriteMode write) {
        layerNorm.layerNormBackward(dx, dGamma, dBeta, dy, x, mean, invStd, gamma, write);
    }

    @Override
    public void gelu(Tensor y, Tensor x) {
        gelu.gelu(y, x);
    }

    @Override
    public void biasGeluBackward(Tensor dx, Tensor y, Tensor dBias, Tensor dy, Tensor x) {
        gelu.biasGeluBackward(dx, y, dBias, dy, x);
    }

    @Override
    public void attention(Tensor out, Tensor lse, Tensor q, Tensor kv, AttentionShape shape, Dropout dropout) {
        attention.attention(out, lse, q, kv, shape, dropout);
    }

    @Override
    public void attentionBackward(Tensor dq, Tensor dkv, Tensor dOut, Tensor q, Tensor kv, Tensor out, Tensor lse,
        AttentionShape shape, Dropout dropout) {
        attention.attentionBackward(dq, dkv, dOut, q, kv, out, lse, shape, dropout);
    }

    @Override
    public void patchify(Tensor tokens, Tensor image, PatchShape shape) {
        patches.patchify(tokens, image, shape);
    }

    @Override
    public void unpatchify(Tensor image, Tensor tokens, PatchShape shape) {
        patches.unpatchify(image, tokens, shape);
    }

    @Override
    public void addPositions(Tensor y, Tensor x, Tensor positions) {
        patches.addPositions(y, x, positions);
    }

    @Override
    public void addPositionsBackward(Tensor dPositions, Tensor dy) {
        patches.addPositionsBackward(dPositions, dy);
    }

    @Override
    public void residual(Tensor y, Tensor x, Tensor branch, Dropout dropPath) {
        residual.residual(y, x, branch, dropPath);
    }

    @Override
    public void residualBackward(Tensor dBranch, Tensor dy, Dropout dropPath) {
        residual.residualBackward(dBranch, dy, dropPath);
    }

    @Override
    public void dropout(Tensor y, Tensor x, Dropout dropout) {
        residual.dropout(y, x, dropout);
    }

    @Override
    public void relativeL2Loss(Tensor loss, Tensor norms, Tensor prediction, Tensor target) {
        losses.relativeL2Loss(loss, norms, prediction, target);
    }

    @Override
    public void relativeL2LossBackward(Tensor dPrediction, Tensor prediction, Tensor target, Tensor norms,
        Tensor scale) {
        losses.relativeL2LossBackward(dPrediction, prediction, target, norms, scale);
    }

    @Override
    public void weightedRmse(Tensor rmse, Tensor prediction, Tensor target) {
        losses.weightedRmse(rmse, prediction, target);
    }

    @Override
    public void adam(Tensor parameter, Tensor copy, Tensor gradient, Tensor moment1, Tensor moment2, Tensor control,
        AdamConstants constants) {
        adam.adam(parameter, copy, gradient, moment1, moment2, control, constants);
    }
}
