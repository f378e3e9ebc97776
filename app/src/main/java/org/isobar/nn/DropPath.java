package org.isobar.nn;

import org.isobar.device.Arena;
import org.isobar.device.Dropout;
import org.isobar.tensor.Tensor;

/**
 * Stochastic depth (Huang et al., 2016): in training, a sample's branch is left out with the given probability, and
 * scaled by 1 / (1 - probability) where it is not.
 *
 * @param name        purpose of the random numbers
 * @param probability of leaving out a branch
 */
record DropPath(String name, double probability) {

    /** {@code y = x + mask * branch}, all (B, T, C). */
    void forward(Tensor y, Tensor x, Tensor branch, Pass pass) {
        pass.ops().residual(y, x, branch, pass.mask(name, probability));
    }

    /** The gradient that reaches the branch: {@code dy} itself where nothing is left out, else a tensor of scratch. */
    Tensor backward(Tensor dy, Arena.Scope scratch, Pass pass) {
        Dropout mask = pass.mask(name, probability);
        if (mask.isNone()) {
            return dy;
        }
        Tensor dBranch = scratch.f32(dy.shape().extents());
        pass.ops().residualBackward(dBranch, dy, mask);
        return dBranch;
    }
}
