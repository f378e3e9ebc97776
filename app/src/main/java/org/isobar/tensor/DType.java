package org.isobar.tensor;

/** Element types of a {@link Tensor}. */
public enum DType {
    /** IEEE 754 binary16. */
    F16(2),
    /** bfloat16: the upper half of a binary32. */
    BF16(2),
    /** IEEE 754 binary32. */
    F32(4),
    /** IEEE 754 binary64; used for norms, scores and scalars that steer the optimizer. */
    F64(8);

    private final int bytes;

    DType(int bytes) {
        this.bytes = bytes;
    }

    /** Size of one element in bytes. */
    public int bytes() {
        return bytes;
    }
}
