package org.isobar.nn;

import org.isobar.device.DeviceArena;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.IndexSpan;
import org.isobar.tensor.Tensor;

/**
 * Dropout of single values of an activation (B, T, C) (Srivastava et al., 2014). The mask is a function of
 * seed, step, this layer's name and the global index; backward computes it again.
 *
 * @param name        purpose of the random numbers
 * @param probability of dropping a value
 * @param tokens      how this rank's tokens lie in the sequence
 * @param channels    how its channels lie in the whole width
 */
public record DropoutLayer(String name, double probability, IndexSpan tokens, IndexSpan channels) {

    /** {@code x = mask * x}, in place: on an activation in forward, on its gradient in backward. */
    public void apply(Tensor x, Pass pass) {
        Dropout mask = pass.mask(name, probability, tokens, channels);
        if (!mask.isNone()) {
            pass.ops().residuals().dropout(x, x, mask);
        }
    }

    /** {@code mask * dy}: {@code dy} itself where nothing is dropped, else a tensor of scratch. */
    public Tensor backward(Tensor dy, DeviceArena.Scope scratch, Pass pass) {
        Dropout mask = pass.mask(name, probability, tokens, channels);
        if (mask.isNone()) {
            return dy;
        }
        Tensor dx = scratch.allocate(dy.dtype(), dy.shape().extents());
        pass.ops().residuals().dropout(dx, dy, mask);
        return dx;
    }
}
