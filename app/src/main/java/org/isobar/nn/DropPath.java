package org.isobar.nn;

import org.isobar.device.DeviceArena;
import org.isobar.device.ops.Dropout;
import org.isobar.tensor.Tensor;

/**
 * Stochastic depth (Huang et al., 2016): in training, a sample's branch is left out with the given probability, and
 * scaled by 1 / (1 - probability) where it is not.
 *
 * @param name        purpose of the random numbers
 * @param probability of leaving out a branch
 */
record DropPath(String name, double probability) {

    /** Which samples' branches are left out, over (B). */
    Dropout mask(Pass pass) {
        return pass.mask(name, probability);
    }

    /** {@code y = x + mask * branch}, all (B, T, C); the branch is of the type of products, the stream F32. */
    void forward(Tensor y, Tensor x, Tensor branch, Pass pass) {
        pass.ops().residuals().residual(y, x, branch, mask(pass));
    }

    /**
     * The gradient that reaches the branch, in the type of products: {@code dy} itself where it is of that type and
     * nothing is left out, else a tensor of scratch.
     */
    Tensor backward(Tensor dy, DeviceArena.Scope scratch, Pass pass) {
        Dropout mask = mask(pass);
        if (mask.isNone() && dy.dtype() == pass.compute()) {
            return dy;
        }
        Tensor dBranch = scratch.allocate(pass.compute(), dy.shape().extents());
        pass.ops().residuals().residualBackward(dBranch, dy, mask);
        return dBranch;
    }
}
