package org.isobar.device.checks;

import static org.isobar.device.checks.OperandChecks.Extents.exactly;
import static org.isobar.device.checks.OperandChecks.Extents.like;
import static org.isobar.tensor.DType.F32;
import static org.isobar.tensor.DType.F64;

import org.isobar.device.ops.LossOps;
import org.isobar.tensor.Tensor;

/** Checks the arguments of {@link LossOps}. */
record CheckedLosses(LossOps ops) implements LossOps {
    @Override
    public void relativeL2Loss(Tensor loss, Tensor norms, Tensor prediction, Tensor target) {
        OperandChecks.ofImages("relativeL2Loss", "prediction", prediction)
            .output("loss", loss, F64, exactly(1))
            .output("norms", norms, F64, exactly(prediction.shape().extent(0), 2))
            .input("prediction", prediction, F32, like(prediction))
            .input("target", target, F32, like(prediction))
            .check();
        ops.relativeL2Loss(loss, norms, prediction, target);
    }

    @Override
    public void relativeL2LossBackward(Tensor dPrediction, Tensor prediction, Tensor target, Tensor norms,
        Tensor scale) {
        OperandChecks.ofImages("relativeL2LossBackward", "prediction", prediction)
            .outputInPlace("dPrediction", dPrediction, F32, like(prediction), "prediction")
            .input("prediction", prediction, F32, like(prediction))
            .input("target", target, F32, like(prediction))
            .input("norms", norms, F64, exactly(prediction.shape().extent(0), 2))
            .input("scale", scale, F64, exactly(1))
            .check();
        ops.relativeL2LossBackward(dPrediction, prediction, target, norms, scale);
    }

    @Override
    public void weightedRmse(Tensor rmse, Tensor prediction, Tensor target) {
        OperandChecks.ofImages("weightedRmse", "prediction", prediction)
            .require(prediction.shape().extent(2) > 1, "prediction", "two latitudes or more", prediction.shape())
            .output("rmse", rmse, F64, exactly(prediction.shape().extent(1)))
            .input("prediction", prediction, F32, like(prediction))
            .input("target", target, F32, like(prediction))
            .check();
        ops.weightedRmse(rmse, prediction, target);
    }
}
