package org.isobar.device.checks;

import static org.isobar.device.checks.OperandChecks.Extents.exactly;
import static org.isobar.device.checks.OperandChecks.Extents.like;
import static org.isobar.tensor.DType.F32;
import static org.isobar.tensor.DType.F64;

import org.isobar.device.ops.LossOps;
import org.isobar.tensor.Tensor;

/** Checks the arguments of {@link LossOps}. */
record CheckedLosses(LossOps ops) implements LossOps {
    private static final String SAMPLES = "a row for each sample from the first on";

    private static boolean holds(Tensor norms, long first, Tensor images) {
        return first >= 0 && norms.shape().rank() == 2 && first + images.shape().extent(0) <= norms.shape().extent(0);
    }

    @Override
    public void relativeL2Loss(Tensor loss, Tensor norms, long first, Tensor prediction, Tensor target) {
        OperandChecks.ofImages("relativeL2Loss", "prediction", prediction)
            .require(holds(norms, first, prediction), "norms", SAMPLES, norms.shape())
            .output("loss", loss, F64, exactly(1))
            .output("norms", norms, F64, exactly(norms.shape().extent(0), 2))
            .input("prediction", prediction, F32, like(prediction))
            .input("target", target, F32, like(prediction))
            .check();
        ops.relativeL2Loss(loss, norms, first, prediction, target);
    }

    @Override
    public void relativeL2LossBackward(Tensor dPrediction, Tensor prediction, Tensor target, Tensor norms, long first,
        Tensor scale) {
        OperandChecks.ofImages("relativeL2LossBackward", "prediction", prediction)
            .require(holds(norms, first, prediction), "norms", SAMPLES, norms.shape())
            .outputInPlace("dPrediction", dPrediction, F32, like(prediction), "prediction")
            .input("prediction", prediction, F32, like(prediction))
            .input("target", target, F32, like(prediction))
            .input("norms", norms, F64, exactly(norms.shape().extent(0), 2))
            .input("scale", scale, F64, exactly(1))
            .check();
        ops.relativeL2LossBackward(dPrediction, prediction, target, norms, first, scale);
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
