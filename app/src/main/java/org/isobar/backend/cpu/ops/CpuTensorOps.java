package org.isobar.backend.cpu.ops;

import java.util.stream.LongStream;

import org.isobar.backend.cpu.attention.CpuAttention;
import org.isobar.backend.cpu.onednn.MatmulCache;
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.device.Footprint;
import org.isobar.device.ops.AdamConstants;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.LossScaling;
import org.isobar.device.ops.PatchShape;
import org.isobar.device.ops.TensorOps;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.Tensor;

/** The operations of the CPU: each stands in the class of its kind. */
public final class CpuTensorOps implements TensorOps {
    private final CpuElementwise elementwise;
    private final CpuProducts products;
    private final CpuLayerNorm layerNorm;
    private final CpuGelu gelu;
    private final CpuAttention attention;
    private final CpuPatches patches;
    private final CpuLoss losses;
    private final CpuScaling scaling;
    private final CpuAdam adam;

    public CpuTensorOps(WorkerPool pool, CpuWorkspace workspace, MatmulCache matmuls) {
        elementwise = new CpuElementwise(pool, workspace);
        products = new CpuProducts(pool, workspace, matmuls);
        layerNorm = new CpuLayerNorm(pool, workspace);
        gelu = new CpuGelu(pool, workspace);
        attention = new CpuAttention(pool, workspace, matmuls);
        patches = new CpuPatches(pool);
        losses = new CpuLoss(pool, workspace);
        scaling = new CpuScaling(pool);
        adam = new CpuAdam(pool);
    }

    /** Bytes that operations of that footprint, on so many threads, need besides their arguments. */
    public static long workspaceBytes(Footprint footprint, int threads) {
        return LongStream.of(FloatView.workspaceBytes(footprint, threads),
            CpuProducts.workspaceBytes(footprint, threads),
            CpuLoss.workspaceBytes(footprint), CpuAttention.workspaceBytes(footprint, threads)).max().orElseThrow();
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
        products.biasBackward(dBias, dy);
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
        gelu.geluBackward(dx, y, dy, x);
        products.biasBackward(dBias, dx);
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
        elementwise.addPositions(y, x, positions);
    }

    @Override
    public void addPositionsBackward(Tensor dPositions, Tensor dy) {
        elementwise.addPositionsBackward(dPositions, dy);
    }

    @Override
    public void residual(Tensor y, Tensor x, Tensor branch, Dropout dropPath) {
        elementwise.residual(y, x, branch, dropPath);
    }

    @Override
    public void residualBackward(Tensor dBranch, Tensor dy, Dropout dropPath) {
        elementwise.residualBackward(dBranch, dy, dropPath);
    }

    @Override
    public void dropout(Tensor y, Tensor x, Dropout dropout) {
        elementwise.dropout(y, x, dropout);
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
        scaling.normalize(y, x, mean, std);
    }

    @Override
    public void unscale(Tensor gradient, Tensor overflow, Tensor scale) {
        scaling.unscale(gradient, overflow, scale);
    }

    @Override
    public void advance(Tensor control, Tensor loss, LossScaling moves) {
        CpuAdam.advance(control, loss, moves);
    }

    @Override
    public void adam(Tensor parameter, Tensor copy, Tensor gradient, Tensor moment1, Tensor moment2, Tensor control,
        AdamConstants constants) {
        adam.adam(parameter, copy, gradient, moment1, moment2, control, constants);
    }
}
