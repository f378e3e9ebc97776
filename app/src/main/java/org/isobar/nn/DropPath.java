package org.isobar.nn;

import org.isobar.device.ops.Dropout;
import org.isobar.tensor.DType;
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

    /** Whether the gradient of the branch is that of the sum: nothing is dropped, and both have one type. */
    boolean passesGradient(Pass pass) {
        return mask(pass).isNone() && pass.compute() == DType.F32;
    }

    /** The gradient of the branch, to be stored in {@code room} if it is not {@code dy}, the gradient of the sum. */
    BranchGradient gradient(Branch branch, Tensor dy, Tensor room, Pass pass) {
        return passesGradient(pass) ? BranchGradient.none(dy)
            : new BranchGradient(room, mask(pass), branch.lastBias(pass));
    }
}
