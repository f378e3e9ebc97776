package org.isobar.device.ops;

import static org.isobar.device.ops.OperandChecks.Extents.exactly;
import static org.isobar.device.ops.OperandChecks.Extents.flat;
import static org.isobar.device.ops.OperandChecks.Extents.like;
import static org.isobar.device.ops.OperandChecks.Extents.rows;

import org.isobar.device.ops.OperandChecks.Extents;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Checks shapes, types and overlap of all arguments as {@link TensorOps} demands them, then lets another implementation
 * compute. A device puts it before its own operations, which so need no checks of theirs. Every method throws
 * {@link IllegalArgumentException} where the caller broke the contract.
 */
public final class CheckedTensorOps implements TensorOps {
    private final TensorOps ops;

    /** Checks what reaches {@code ops}. */
    public CheckedTensorOps(TensorOps ops) {
        this.ops = ops;
    }

    @Override
    public void fill(Tensor y, double value) {
        ops.fill(y, value);
    }

    @Override
    public void copy(Tensor y, Tensor x) {
        new OperandChecks("copy").output("y", y, x.dtype(), flat(x.elements())).input("x", x, x.dtype(), like(x))
            .check();
        ops.copy(y, x);
    }

    @Override
    public void cast(Tensor y, Tensor x) {
        new OperandChecks("cast").output("y", y, computed(y), flat(x.elements())).input("x", x, computed(x), like(x))
            .check();
        ops.cast(y, x);
    }

    @Override
    public void transposeOuter(Tensor y, Tensor x) {
        new OperandChecks("transposeOuter").require(x.shape().rank() == 3, "x", "three dimensions", x.shape())
            .output("y", y, computed(x), exactly(x.shape().extent(1), x.shape().extent(0), x.shape().extent(2)))
            .input("x", x, computed(x), like(x)).check();
        ops.transposeOuter(y, x);
    }

    @Override
    public void linear(Tensor y, Tensor x, Tensor weight, Epilogue epilogue) {
        long m = x.shape().rows();
        long n = weight.shape().rows();
        DType a = computed(x);
        DType result = y.dtype() == DType.F32 && !(epilogue instanceof Epilogue.BiasGelu) ? DType.F32 : a;
        OperandChecks arguments = new OperandChecks("linear").output("y", y, result, rows(m, n))
            .input("x", x, a, like(x))
            .input("weight", weight, a, rows(n, x.shape().extent(-1)));
        switch (epilogue) {
            case Epilogue.None none -> { }
            case Epilogue.Bias bias -> arguments.input("bias", bias.bias(), result, flat(n));
            case Epilogue.BiasGelu gelu -> arguments.input("bias", gelu.bias(), result, flat(n))
                .output("preActivation", gelu.preActivation(), result, rows(m, n));
        }
        arguments.check();
        ops.linear(y, x, weight, epilogue);
    }

    @Override
    public void linearBackwardInput(Tensor dx, Tensor dy, Tensor weight, WriteMode write) {
        long k = weight.shape().extent(-1);
        DType a = computed(dy);
        new OperandChecks("linearBackwardInput").output("dx", dx, a, rows(dy.shape().rows(), k))
            .input("dy", dy, a, like(dy)).input("weight", weight, a, rows(dy.shape().extent(-1), k)).check();
        ops.linearBackwardInput(dx, dy, weight, write);
    }

    @Override
    public void linearBackwardWeight(Tensor dWeight, Tensor dy, Tensor x) {
        new OperandChecks("linearBackwardWeight")
            .output("dWeight", dWeight, rows(dy.shape().extent(-1), x.shape().extent(-1)))
            .input("dy", dy, computed(dy), like(dy))
            .input("x", x, dy.dtype(), rows(dy.shape().rows(), x.shape().extent(-1))).check();
        ops.linearBackwardWeight(dWeight, dy, x);
    }

    @Override
    public void biasBackward(Tensor dBias, Tensor dy) {
        new OperandChecks("biasBackward").output("dBias", dBias, flat(dy.shape().extent(-1)))
            .input("dy", dy, computed(dy), like(dy)).check();
        ops.biasBackward(dBias, dy);
    }

    @Override
    public void layerNorm(Tensor y, Tensor mean, Tensor invStd, Tensor x, Tensor gamma, Tensor beta, double epsilon) {
        Extents statistics = flat(x.shape().rows());
        Extents row = flat(x.shape().extent(-1));
        new OperandChecks("layerNorm").output("y", y, computed(y), like(x)).output("mean", mean, statistics)
            .output("invStd", invStd, statistics).input("x", x, like(x)).input("gamma", gamma, row)
            .input("beta", beta, row).require(epsilon >= 0, "epsilon", "no negative number", epsilon).check();
        ops.layerNorm(y, mean, invStd, x, gamma, beta, epsilon);
    }

    @Override
    public void layerNormRecompute(Tensor y, Tensor x, Tensor mean, Tensor invStd, Tensor gamma, Tensor beta) {
        Extents statistics = flat(x.shape().rows());
        Extents row = flat(x.shape().extent(-1));
        new OperandChecks("layerNormRecompute").output("y", y, computed(y), like(x)).input("x", x, like(x))
            .input("mean", mean, statistics).input("invStd", invStd, statistics).input("gamma", gamma, row)
            .input("beta", beta, row).check();
        ops.layerNormRecompute(y, x, mean, invStd, gamma, beta);
    }

    @Override
    public void layerNormBackward(Tensor dx, Tensor dGamma, Tensor dBeta, Tensor dy, Tensor x, Tensor mean,
        Tensor invStd, Tensor gamma, WriteMode write) {
        Extents statistics = flat(x.shape().rows());
        Extents row = flat(x.shape().extent(-1));
        new OperandChecks("layerNormBackward").output("dx", dx, like(x)).output("dGamma", dGamma, row)
            .output("dBeta", dBeta, row).input("dy", dy, computed(dy), like(x)).input("x", x, like(x))
            .input("mean", mean, statistics).input("invStd", invStd, statistics).input("gamma", gamma, row).check();
        ops.layerNormBackward(dx, dGamma, dBeta, dy, x, mean, invStd, gamma, write);
    }

    @Override
    public void residualLayerNorm(Tensor y, Tensor z, Tensor mean, Tensor invStd, Tensor x, Tensor branch,
        Dropout dropPath, Tensor gamma, Tensor beta, double epsilon) {
        Extents statistics = flat(x.shape().rows());
        Extents row = flat(x.shape().extent(-1));
        new OperandChecks("residualLayerNorm").output("y", y, computed(branch), like(x))
            .outputInPlace("z", z, DType.F32, like(x), "x").output("mean", mean, statistics)
            .output("invStd", invStd, statistics).input("x", x, like(x))
            .input("branch", branch, computed(branch), like(x)).mask("dropPath", dropPath, x.shape().extent(0))
            .input("gamma", gamma, row).input("beta", beta, row)
            .require(epsilon >= 0, "epsilon", "no negative number", epsilon).check();
        ops.residualLayerNorm(y, z, mean, invStd, x, branch, dropPath, gamma, beta, epsilon);
    }

    @Override
    public void gelu(Tensor y, Tensor x) {
        new OperandChecks("gelu").outputInPlace("y", y, computed(x), like(x), "x").input("x", x, computed(x), like(x))
            .check();
        ops.gelu(y, x);
    }

    @Override
    public void biasGeluBackward(Tensor dx, Tensor y, Tensor dBias, Tensor dy, Tensor x) {
        DType a = computed(x);
        new OperandChecks("biasGeluBackward").outputInPlace("dx", dx, a, like(x), "dy").output("y", y, a, like(x))
            .output("dBias", dBias, flat(x.shape().extent(-1))).input("dy", dy, a, like(x)).input("x", x, a, like(x))
            .check();
        ops.biasGeluBackward(dx, y, dBias, dy, x);
    }

    @Override
    public void attention(Tensor out, Tensor lse, Tensor q, Tensor kv, AttentionShape shape, Dropout dropout) {
        DType a = computed(q);
        new OperandChecks("attention").output("out", out, a, queries(shape)).output("lse", lse, scores(shape))
            .input("q", q, a, queries(shape)).input("kv", kv, a, keys(shape))
            .mask("dropout", dropout, shape.batch(), shape.heads(), shape.queries(), shape.keys()).check();
        ops.attention(out, lse, q, kv, shape, dropout);
    }

    @Override
    public void attentionBackward(Tensor dq, Tensor dkv, Tensor dOut, Tensor q, Tensor kv, Tensor out, Tensor lse,
        AttentionShape shape, Dropout dropout) {
        DType a = computed(q);
        new OperandChecks("attentionBackward").output("dq", dq, a, queries(shape)).output("dkv", dkv, a, keys(shape))
            .input("dOut", dOut, a, queries(shape)).input("q", q, a, queries(shape)).input("kv", kv, a, keys(shape))
            .input("out", out, a, queries(shape)).input("lse", lse, scores(shape))
            .mask("dropout", dropout, shape.batch(), shape.heads(), shape.queries(), shape.keys()).check();
        ops.attentionBackward(dq, dkv, dOut, q, kv, out, lse, shape, dropout);
    }

    private static Extents queries(AttentionShape shape) {
        return exactly(shape.batch(), shape.queries(), shape.heads(), shape.headDim());
    }

    private static Extents keys(AttentionShape shape) {
        return exactly(shape.batch(), shape.keys(), 2, shape.heads(), shape.headDim());
    }

    private static Extents scores(AttentionShape shape) {
        return exactly(shape.batch(), shape.heads(), shape.queries());
    }

    @Override
    public void patchify(Tensor tokens, Tensor image, PatchShape shape) {
        patches("patchify", shape).output("tokens", tokens, computed(tokens), tokens(shape))
            .input("image", image, image(shape)).check();
        ops.patchify(tokens, image, shape);
    }

    @Override
    public void unpatchify(Tensor image, Tensor tokens, PatchShape shape) {
        patches("unpatchify", shape).output("image", image, image(shape))
            .input("tokens", tokens, computed(tokens), tokens(shape)).check();
        ops.unpatchify(image, tokens, shape);
    }

    private static OperandChecks patches(String operation, PatchShape shape) {
        boolean whole = shape.patch() > 0 && shape.height() % shape.patch() == 0 && shape.width() % shape.patch() == 0;
        return new OperandChecks(operation).require(whole, "shape", "an image of whole patches", shape);
    }

    private static Extents tokens(PatchShape shape) {
        return exactly(shape.batch(), shape.tokens(), shape.tokenSize());
    }

    private static Extents image(PatchShape shape) {
        return exactly(shape.batch(), shape.channels(), shape.height(), shape.width());
    }

    @Override
    public void addPositions(Tensor y, Tensor x, Tensor positions) {
        new OperandChecks("addPositions").require(x.shape().rank() == 3, "x", "three dimensions", x.shape())
            .outputInPlace("y", y, like(x), "x").input("x", x, like(x))
            .input("positions", positions, exactly(x.shape().extent(1), x.shape().extent(2))).check();
        ops.addPositions(y, x, positions);
    }

    @Override
    public void addPositionsBackward(Tensor dPositions, Tensor dy) {
        new OperandChecks("addPositionsBackward").require(dy.shape().rank() == 3, "dy", "three dimensions", dy.shape())
            .output("dPositions", dPositions, exactly(dy.shape().extent(1), dy.shape().extent(2)))
            .input("dy", dy, like(dy)).check();
        ops.addPositionsBackward(dPositions, dy);
    }

    @Override
    public void residual(Tensor y, Tensor x, Tensor branch, Dropout dropPath) {
        String inPlace = y.aliases(branch) ? "branch" : "x";
        new OperandChecks("residual").outputInPlace("y", y, like(x), inPlace).input("x", x, like(x))
            .input("branch", branch, computed(branch), like(x)).mask("dropPath", dropPath, x.shape().extent(0)).check();
        ops.residual(y, x, branch, dropPath);
    }

    @Override
    public void residualBackward(Tensor dBranch, Tensor dy, Dropout dropPath) {
        new OperandChecks("residualBackward").outputInPlace("dBranch", dBranch, computed(dBranch), like(dy), "dy")
            .input("dy", dy, like(dy)).mask("dropPath", dropPath, dy.shape().extent(0)).check();
        ops.residualBackward(dBranch, dy, dropPath);
    }

    @Override
    public void dropout(Tensor y, Tensor x, Dropout dropout) {
        new OperandChecks("dropout").outputInPlace("y", y, computed(x), like(x), "x")
            .input("x", x, computed(x), like(x))
            .mask("dropout", dropout, x.shape().extents()).check();
        ops.dropout(y, x, dropout);
    }

    @Override
    public void relativeL2Loss(Tensor loss, Tensor norms, Tensor prediction, Tensor target) {
        images("relativeL2Loss", prediction).output("loss", loss, DType.F64, exactly(1))
            .output("norms", norms, DType.F64, exactly(prediction.shape().extent(0), 2))
            .input("prediction", prediction, like(prediction)).input("target", target, like(prediction)).check();
        ops.relativeL2Loss(loss, norms, prediction, target);
    }

    @Override
    public void relativeL2LossBackward(Tensor dPrediction, Tensor prediction, Tensor target, Tensor norms,
        Tensor scale) {
        images("relativeL2LossBackward", prediction)
            .outputInPlace("dPrediction", dPrediction, like(prediction), "prediction")
            .input("prediction", prediction, like(prediction)).input("target", target, like(prediction))
            .input("norms", norms, DType.F64, exactly(prediction.shape().extent(0), 2))
            .input("scale", scale, DType.F64, exactly(1)).check();
        ops.relativeL2LossBackward(dPrediction, prediction, target, norms, scale);
    }

    @Override
    public void weightedRmse(Tensor rmse, Tensor prediction, Tensor target) {
        images("weightedRmse", prediction)
            .require(prediction.shape().extent(2) > 1, "prediction", "two latitudes or more", prediction.shape())
            .output("rmse", rmse, DType.F64, exactly(prediction.shape().extent(1)))
            .input("prediction", prediction, like(prediction)).input("target", target, like(prediction)).check();
        ops.weightedRmse(rmse, prediction, target);
    }

    private static OperandChecks images(String operation, Tensor prediction) {
        return new OperandChecks(operation).require(prediction.shape().rank() == 4, "prediction", "four dimensions",
            prediction.shape());
    }

    @Override
    public void normalize(Tensor y, Tensor x, Tensor mean, Tensor std) {
        images("normalize", x).outputInPlace("y", y, like(x), "x").input("x", x, like(x))
            .input("mean", mean, flat(x.shape().extent(1))).input("std", std, flat(x.shape().extent(1))).check();
        ops.normalize(y, x, mean, std);
    }

    @Override
    public void unscale(Tensor gradient, Tensor overflow, Tensor scale) {
        new OperandChecks("unscale").output("gradient", gradient, flat(gradient.elements()))
            .output("overflow", overflow, DType.F64, exactly(1)).input("scale", scale, DType.F64, exactly(1)).check();
        ops.unscale(gradient, overflow, scale);
    }

    @Override
    public void advance(Tensor control, Tensor loss, LossScaling scaling) {
        new OperandChecks("advance").output("control", control, DType.F64, exactly(StepControl.SIZE))
            .input("loss", loss, DType.F64, exactly(1)).check();
        ops.advance(control, loss, scaling);
    }

    @Override
    public void adam(Tensor parameter, Tensor copy, Tensor gradient, Tensor moment1, Tensor moment2, Tensor control,
        AdamConstants constants) {
        Extents range = flat(parameter.elements());
        OperandChecks arguments = new OperandChecks("adam").output("parameter", parameter, range)
            .input("gradient", gradient, range).output("moment1", moment1, range).output("moment2", moment2, range)
            .input("control", control, DType.F64, exactly(StepControl.SIZE));
        if (!copy.aliases(parameter)) {
            arguments.output("copy", copy, computed(copy), range);
        }
        arguments.check();
        ops.adam(parameter, copy, gradient, moment1, moment2, control, constants);
    }

    /** The type of a tensor that must be one of those that products are computed in. */
    private static DType computed(Tensor tensor) {
        return tensor.dtype() == DType.F64 ? DType.F32 : tensor.dtype();
    }
}
