package org.isobar.backend.cuda.ops;

import org.isobar.backend.cuda.kernels.KernelLauncher;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.IndexSpan;

/** Passes dropout of attention weights to kernels, as arguments in the order of {@code MASK_PARAMETERS}. */
final class AttentionMask {
    private AttentionMask() { }

    /**
     * Passes key, stream, global index of the first element, strides of the sample, head, query and key dimensions,
     * threshold and scale.
     *
     * @param dropout the mask over (B, H, Tq, Tk), or none
     */
    static KernelLauncher pass(KernelLauncher launcher, Dropout dropout) {
        boolean none = dropout.isNone();
        launcher.int64(dropout.key().bits()).int64(dropout.key().stream())
            .int64(none ? 0 : dropout.globalIndex(0, 0, 0, 0));
        for (int dim = 0; dim < 4; dim++) {
            launcher.int64(none ? 0 : distance(dropout, dim));
        }
        return launcher.int64(dropout.threshold()).float32(dropout.scale());
    }

    private static long distance(Dropout dropout, int dim) {
        return dropout.spans().get(dim).step() * dropout.spans().stream().skip(dim + 1L).mapToLong(IndexSpan::extent)
            .reduce(1, (x, y) -> x * y);
    }
}
