package org.isobar.nn;

import org.isobar.device.ops.Dropout;
import org.isobar.tensor.Tensor;

/**
 * The gradient of a branch, {@code dBranch = mask * dSum}, of a residual sum {@code x + mask * branch}.
 *
 * @param dBranch (B, T, C), compute type; dSum itself if it has that type and nothing is dropped
 * @param mask    over (B)
 */
record BranchGradient(Tensor dBranch, Dropout mask) {
    /** The gradient of no branch: nothing but {@code dSum} is computed. */
    static BranchGradient none(Tensor dSum) {
        return new BranchGradient(dSum, Dropout.NONE);
    }

    /** Computes it from {@code dSum}, (B, T, C), F32. */
    void compute(Tensor dSum, Pass pass) {
        if (!dBranch.aliases(dSum)) {
            pass.ops().residuals().residualBackward(dBranch, dSum, mask);
        }
    }
}
