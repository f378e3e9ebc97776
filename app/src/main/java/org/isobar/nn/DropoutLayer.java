package org.isobar.nn;

import org.isobar.device.DeviceArena;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.IndexSpan;
import org.isobar.tensor.Tensor;

/**
 * Element-wise dropout of an activation (B, T, C) (Srivastava et al., 2014). The mask is a function of seed, step, this
 * layer's name and the global index. Backward recomputes it.
 *
 * @param name        purpose of the random numbers
 * @param probability probability of dropping a value
 * @param tokens      position of this rank's tokens in the sequence
 * @param channels    position of its channels in the full width
 */
public record DropoutLayer(String name, double probability, IndexSpan tokens, IndexSpan channels) {

    /** Whether nothing is dropped. */
    boolean isNone(Pass pass) {
        return mask(pass).isNone();
    }

    /** Computes {@code x = mask * x} in place, for an activation in forward or its gradient in backward. */
    public void apply(Tensor x, Pass pass) {
        Dropout mask = mask(pass);
        if (!mask.isNone()) {
            pass.ops().residuals().dropout(x, x, mask);
        }
    }

    /** Returns {@code mask * dy}: {@code dy} itself if nothing is dropped, otherwise a scratch tensor. */
    public Tensor backward(Tensor dy, DeviceArena.Scope scratch, Pass pass) {
        Dropout mask = mask(pass);
        if (mask.isNone()) {
            return dy;
        }
        Tensor dx = scratch.allocate(dy.dtype(), dy.shape().extents());
        pass.ops().residuals().dropout(dx, dy, mask);
        return dx;
    }

    private Dropout mask(Pass pass) {
        return pass.mask(name, probability, tokens, channels);
    }
}
