package org.isobar.device.ops;

import org.isobar.tensor.Tensor;

/**
 * The output of a norm, computed again by its backward pass, which reads the norm's input anyway.
 *
 * @param y    as dy, written; may be dy
 * @param beta (C), F32
 */
public record RecomputedNorm(Tensor y, Tensor beta) { }
