package org.isobar.device.checks;

import org.isobar.device.ops.TensorOps;

/**
 * Wraps operations with checks of the shapes, types and overlap of all arguments, as documented in the families of
 * {@link TensorOps}. A device wraps its operations in these checks, so its kernels need no checks of their own. Every
 * operation throws {@link IllegalArgumentException} if an argument breaks the contract.
 */
public final class CheckedTensorOps {
    private CheckedTensorOps() { }

    /** Returns {@code ops} with checks before every operation. */
    public static TensorOps of(TensorOps ops) {
        return new TensorOps(new CheckedMemory(ops.memory()), new CheckedProducts(ops.products()),
            new CheckedNorms(ops.norms()), new CheckedAttention(ops.attention()), new CheckedImages(ops.images()),
            new CheckedResiduals(ops.residuals()), new CheckedLosses(ops.losses()), new CheckedUpdates(ops.updates()));
    }
}
