package org.isobar.nn;

import java.util.Optional;
import java.util.function.Consumer;

import org.isobar.device.DeviceArena;
import org.isobar.device.ops.Dropout;
import org.isobar.tensor.Tensor;

/**
 * The gradient of a branch, {@code dBranch = mask * dSum}, of a residual sum {@code x + mask * branch}, and that of the
 * branch's last bias.
 *
 * @param dBranch  (B, T, C), compute type; dSum itself if it has that type and nothing is dropped
 * @param mask     over (B)
 * @param lastBias whose gradient, the sum of dBranch over tokens, is added where dBranch is computed; if empty, the
 *                 branch adds it
 */
record BranchGradient(Tensor dBranch, Dropout mask, Optional<Parameter> lastBias) {
    /** The gradient of no branch: nothing but {@code dSum} is computed. */
    static BranchGradient none(Tensor dSum) {
        return new BranchGradient(dSum, Dropout.NONE, Optional.empty());
    }

    /** Computes it from {@code dSum}, (B, T, C), F32. */
    void compute(Tensor dSum, Pass pass) {
        if (!dBranch.aliases(dSum)) {
            pass.ops().residuals().residualBackward(dBranch, dSum, mask);
        }
        lastBias.ifPresent(bias -> {
            pass.ops().products().biasBackward(bias.gradient(), dBranch);
            pass.complete(bias);
        });
    }

    /** {@link Branch#backward} from this gradient, with that of the last bias if it is missing. */
    Consumer<Tensor> backward(Branch branch, Tensor dx, Optional<Tensor> x, DeviceArena.Scope scratch, Pass pass) {
        return branch.backward(dx, dBranch, x, lastBias.isPresent() ? Branch.LastBias.LEFT_OUT
            : Branch.LastBias.DIFFERENTIATED, scratch, pass);
    }
}
