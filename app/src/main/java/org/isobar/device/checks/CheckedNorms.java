package org.isobar.device.checks;

import static org.isobar.device.checks.OperandChecks.COMPUTE;
import static org.isobar.device.checks.OperandChecks.Extents.flat;
import static org.isobar.device.checks.OperandChecks.Extents.like;
import static org.isobar.tensor.DType.F32;

import java.util.Optional;

import org.isobar.device.checks.OperandChecks.Extents;
import org.isobar.device.ops.BiasedGradient;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.NormOps;
import org.isobar.device.ops.RecomputedNorm;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.Tensor;

/** Checks the arguments of {@link NormOps}. */
record CheckedNorms(NormOps ops) implements NormOps {
    @Override
    public void layerNorm(Tensor y, Tensor mean, Tensor invStd, Tensor x, Tensor gamma, Tensor beta, double epsilon) {
        Extents statistics = flat(x.shape().rows());
        Extents row = flat(x.shape().extent(-1));
        new OperandChecks("layerNorm")
            .output("y", y, COMPUTE, like(x))
            .output("mean", mean, F32, statistics)
            .output("invStd", invStd, F32, statistics)
            .input("x", x, F32, like(x))
            .input("gamma", gamma, F32, row)
            .input("beta", beta, F32, row)
            .require(epsilon >= 0, "epsilon", "no negative number", epsilon)
            .check();
        ops.layerNorm(y, mean, invStd, x, gamma, beta, epsilon);
    }

    @Override
    public void layerNormRecompute(Tensor y, Tensor x, Tensor mean, Tensor invStd, Tensor gamma, Tensor beta) {
        Extents statistics = flat(x.shape().rows());
        Extents row = flat(x.shape().extent(-1));
        new OperandChecks("layerNormRecompute")
            .output("y", y, COMPUTE, like(x))
            .input("x", x, F32, like(x))
            .input("mean", mean, F32, statistics)
            .input("invStd", invStd, F32, statistics)
            .input("gamma", gamma, F32, row)
            .input("beta", beta, F32, row)
            .check();
        ops.layerNormRecompute(y, x, mean, invStd, gamma, beta);
    }

    @Override
    public void layerNormBackward(Tensor dx, Tensor dGamma, Tensor dBeta, Tensor dy, Tensor x, Tensor mean,
        Tensor invStd, Tensor gamma, WriteMode write, Optional<RecomputedNorm> output) {
        Extents statistics = flat(x.shape().rows());
        Extents row = flat(x.shape().extent(-1));
        checks("layerNormBackward", output, dy, row)
            .output("dx", dx, F32, like(x))
            .output("dGamma", dGamma, F32, row)
            .output("dBeta", dBeta, F32, row)
            .input("dy", dy, COMPUTE, like(x))
            .input("x", x, F32, like(x))
            .input("mean", mean, F32, statistics)
            .input("invStd", invStd, F32, statistics)
            .input("gamma", gamma, F32, row)
            .check();
        ops.layerNormBackward(dx, dGamma, dBeta, dy, x, mean, invStd, gamma, write, output);
    }

    @Override
    public void residualLayerNorm(Tensor y, Tensor z, Tensor mean, Tensor invStd, Tensor x, Tensor branch,
        Dropout dropPath, Tensor gamma, Tensor beta, double epsilon) {
        Extents statistics = flat(x.shape().rows());
        Extents row = flat(x.shape().extent(-1));
        new OperandChecks("residualLayerNorm")
            .output("y", y, branch.dtype(), like(x))
            .outputInPlace("z", z, F32, like(x), "x")
            .output("mean", mean, F32, statistics)
            .output("invStd", invStd, F32, statistics)
            .input("x", x, F32, like(x))
            .input("branch", branch, COMPUTE, like(x))
            .mask("dropPath", dropPath, x.shape().extent(0))
            .input("gamma", gamma, F32, row)
            .input("beta", beta, F32, row)
            .require(epsilon >= 0, "epsilon", "no negative number", epsilon)
            .check();
        ops.residualLayerNorm(y, z, mean, invStd, x, branch, dropPath, gamma, beta, epsilon);
    }

    @Override
    public void residualLayerNormBackward(Tensor dz, BiasedGradient dBranch, Tensor dGamma, Tensor dBeta, Tensor dy,
        Tensor z, Tensor mean, Tensor invStd, Tensor gamma, Optional<RecomputedNorm> output) {
        Extents statistics = flat(z.shape().rows());
        Extents row = flat(z.shape().extent(-1));
        checks("residualLayerNormBackward", output, dy, row)
            .output("dz", dz, F32, like(z))
            .output("dBranch", dBranch.gradient(), dy.dtype(), like(z))
            .output("dBias", dBranch.dBias(), F32, row)
            .output("dGamma", dGamma, F32, row)
            .output("dBeta", dBeta, F32, row)
            .input("dy", dy, COMPUTE, like(z))
            .input("z", z, F32, like(z))
            .input("mean", mean, F32, statistics)
            .input("invStd", invStd, F32, statistics)
            .input("gamma", gamma, F32, row)
            .mask("dropPath", dBranch.dropPath(), z.shape().extent(0))
            .check();
        ops.residualLayerNormBackward(dz, dBranch, dGamma, dBeta, dy, z, mean, invStd, gamma, output);
    }

    /** Begins the checks of a backward pass by those of the recomputed output. */
    private static OperandChecks checks(String operation, Optional<RecomputedNorm> output, Tensor dy, Extents row) {
        OperandChecks checks = new OperandChecks(operation);
        output.ifPresent(recomputed -> checks
            .outputInPlace("y", recomputed.y(), dy.dtype(), like(dy), "dy")
            .input("beta", recomputed.beta(), F32, row));
        return checks;
    }
}
