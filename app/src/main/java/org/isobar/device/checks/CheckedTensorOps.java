package org.isobar.device.checks;

import org.isobar.device.ops.TensorOps;

/**
 * Checks shapes, types and overlap of all arguments, as the families of {@link TensorOps} demand them, and then calls
 * another implementation. A device puts these checks before its own operations, which need none of their own. Every
 * operation throws {@link IllegalArgumentException} if an argument breaks the contract.
 */
public final class CheckedTensorOps {
    private CheckedTensorOps() { }

    /** {@code ops} with checks before every operation. */
    public static TensorOps of(TensorOps ops) {
        return new TensorOps(new CheckedMemory(ops.memory()), new CheckedProducts(ops.products()),
            new CheckedNorms(ops.norms()), new CheckedAttention(ops.attention()), new CheckedImages(ops.images()),
            new CheckedResiduals(ops.residuals()), new CheckedLosses(ops.losses()), new CheckedUpdates(ops.updates()));
    }
}
