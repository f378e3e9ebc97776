package org.isobar.config.keys;

import org.isobar.tensor.DType;

/** Automatic mixed precision: the type of matrix products. Master weights are fp32 in each mode. */
public enum AmpMode {
    /** Everything in fp32. */
    NONE(DType.F32),
    /** fp16, with loss scaling. */
    FP16(DType.F16),
    /** bfloat16. */
    BF16(DType.BF16);

    private final DType compute;

    AmpMode(DType compute) {
        this.compute = compute;
    }

    /** The type of the operands of matrix products. */
    public DType compute() {
        return compute;
    }
}
