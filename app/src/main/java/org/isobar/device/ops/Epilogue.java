package org.isobar.device.ops;

import org.isobar.tensor.Tensor;

/** An operation fused into the end of a matrix product. */
public sealed interface Epilogue {
    /** No epilogue. */
    Epilogue NONE = new None();

    /** No epilogue: y = x W^T. */
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
