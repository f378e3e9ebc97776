package org.isobar.device.ops;

import org.isobar.tensor.Tensor;

/** Filling, copying and casting tensors. {@link TensorOps} explains how shapes and types are written. */
public interface MemoryOps {
    /**
     * Sets every element of {@code y} to {@code value}.
     *
     * @param y any shape, any type
     */
    void fill(Tensor y, double value);

    /**
     * {@code y = x}.
     *
     * @param y as many elements as x, as x
     * @param x any shape, any type
     */
    void copy(Tensor y, Tensor x);

    /**
     * {@code y = x}, rounded to the nearest number of the type of {@code y}, ties to even.
     *
     * @param y as many elements as x, compute type
     * @param x any shape, compute type
     */
    void cast(Tensor y, Tensor x);
}
