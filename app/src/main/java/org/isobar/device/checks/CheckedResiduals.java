package org.isobar.device.checks;

import static org.isobar.device.checks.OperandChecks.COMPUTE;
import static org.isobar.device.checks.OperandChecks.Extents.like;
import static org.isobar.tensor.DType.F32;

import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.ResidualOps;
import org.isobar.tensor.Tensor;

/** Checks the arguments of {@link ResidualOps}. */
record CheckedResiduals(ResidualOps ops) implements ResidualOps {
    @Override
    public void residual(Tensor y, Tensor x, Tensor branch, Dropout dropPath) {
        String inPlace = y.aliases(branch) ? "branch" : "x";
        new OperandChecks("residual")
            .outputInPlace("y", y, F32, like(x), inPlace)
            .input("x", x, F32, like(x))
            .input("branch", branch, COMPUTE, like(x))
            .mask("dropPath", dropPath, x.shape().extent(0))
            .check();
        ops.residual(y, x, branch, dropPath);
    }

    @Override
    public void residualBackward(Tensor dBranch, Tensor dy, Dropout dropPath) {
        new OperandChecks("residualBackward")
            .outputInPlace("dBranch", dBranch, COMPUTE, like(dy), "dy")
            .input("dy", dy, F32, like(dy))
            .mask("dropPath", dropPath, dy.shape().extent(0))
            .check();
        ops.residualBackward(dBranch, dy, dropPath);
    }

    @Override
    public void dropout(Tensor y, Tensor x, Dropout dropout) {
        new OperandChecks("dropout")
            .outputInPlace("y", y, x.dtype(), like(x), "x")
            .input("x", x, COMPUTE, like(x))
            .mask("dropout", dropout, x.shape().extents())
            .check();
        ops.dropout(y, x, dropout);
    }
}
