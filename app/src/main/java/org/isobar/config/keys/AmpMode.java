package org.isobar.config.keys;

import org.isobar.tensor.DType;

/** Automatic mixed precision: the type of matrix products, while master weights stay in fp32. */
public enum AmpMode {
    /** Everything in fp32. */
    NONE(DType.F32),
    /** fp16, with scaled losses. */
    FP16(DType.F16),
    /** bfloat16. */
    BF16(DType.BF16);

    private final DType compute;

    AmpMode(DType compute) {
        this.compute = compute;
    }

    /** The type that products are computed in. */
    public DType compute() {
        return compute;
    }
}
