package org.isobar.device.checks;

import static org.isobar.device.checks.OperandChecks.Extents.exactly;
import static org.isobar.device.checks.OperandChecks.Extents.flat;
import static org.isobar.tensor.DType.F32;
import static org.isobar.tensor.DType.F64;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

import org.isobar.device.checks.OperandChecks.Extents;
import org.isobar.device.ops.AdamConstants;
import org.isobar.device.ops.LossScaling;
import org.isobar.device.ops.StepControl;
import org.isobar.device.ops.UpdateOps;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** Checks the arguments of {@link UpdateOps}. */
record CheckedUpdates(UpdateOps ops) implements UpdateOps {
    /** The types of a copy of the parameters; in F32, the parameters are the copy. */
    private static final Set<DType> HALF = Collections.unmodifiableSet(EnumSet.of(DType.F16, DType.BF16));

    @Override
    public void unscale(Tensor gradient, Tensor overflow, Tensor scale, double divisor) {
        new OperandChecks("unscale")
            .output("gradient", gradient, F32, flat(gradient.elements()))
            .output("overflow", overflow, F64, exactly(1))
            .input("scale", scale, F64, exactly(1))
            .check();
        ops.unscale(gradient, overflow, scale, divisor);
    }

    @Override
    public void advance(Tensor control, Tensor loss, LossScaling scaling) {
        new OperandChecks("advance")
            .output("control", control, F64, exactly(StepControl.SIZE))
            .input("loss", loss, F64, exactly(1))
            .check();
        ops.advance(control, loss, scaling);
    }

    @Override
    public void adam(Tensor parameter, Tensor copy, Tensor gradient, Tensor moment1, Tensor moment2, Tensor control,
        AdamConstants constants) {
        Extents range = flat(parameter.elements());
        OperandChecks arguments = new OperandChecks("adam")
            .output("parameter", parameter, F32, range)
            .input("gradient", gradient, F32, range)
            .output("moment1", moment1, F32, range)
            .output("moment2", moment2, F32, range)
            .input("control", control, F64, exactly(StepControl.SIZE));
        if (!copy.aliases(parameter)) {
            arguments.output("copy", copy, HALF, range);
        }
        arguments.check();
        ops.adam(parameter, copy, gradient, moment1, moment2, control, constants);
    }
}
