package org.isobar.nn;

import org.isobar.device.DeviceArena;
import org.isobar.device.ops.Dropout;
import org.isobar.tensor.Tensor;

/**
 * Stochastic depth (Huang et al., 2016): in training, drops the branch of each sample with the given probability and
 * scales the remaining branches by 1 / (1 - probability).
 *
 * @param name        purpose of the random numbers
 * @param probability probability of dropping a branch
 */
record DropPath(String name, double probability) {

    /** The mask over samples, (B). */
    Dropout mask(Pass pass) {
        return pass.mask(name, probability);
    }

    /** {@code y = x + mask * branch}, all (B, T, C). The branch has the compute type; x and y are F32. */
    void forward(Tensor y, Tensor x, Tensor branch, Pass pass) {
        pass.ops().residuals().residual(y, x, branch, mask(pass));
    }

    /**
     * Returns the gradient of the branch in the compute type: {@code dy} itself if it has that type and nothing is
     * dropped, otherwise a scratch tensor.
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
