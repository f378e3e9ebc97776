package org.isobar.device.ops;

import org.isobar.tensor.Tensor;

/** What follows a matrix product while its result is at hand. */
public sealed interface Epilogue {
    /** Nothing follows. */
    Epilogue NONE = new None();

    /** Nothing follows: y = x W^T. */
    record None() implements Epilogue { }

    /**
     * y = x W^T + b.
     *
     * @param bias (N)
     */
    record Bias(Tensor bias) implements Epilogue { }

    /**
     * u = x W^T + b, y = GELU(u).
     *
     * @param bias          (N)
     * @param preActivation u, written; the shape of y
     */
    record BiasGelu(Tensor bias, Tensor preActivation) implements Epilogue { }
}
