package org.isobar.tensor;

/** Element types of a {@link Tensor}. */
public enum DType {
    /** IEEE 754 binary16. */
    F16(2),
    /** bfloat16: the upper half of a binary32. */
    BF16(2),
    /** IEEE 754 binary32. */
    F32(4),
    /** IEEE 754 binary64; used for norms, scores and the optimizer's control scalars. */
    F64(8);

    private final int bytes;

    DType(int bytes) {
        this.bytes = bytes;
    }

    /** Size of one element in bytes. */
    public int bytes() {
        return bytes;
    }

    /**
     * The bits of {@code value} in this type, in the low bits of the result. Rounds to nearest, ties to even; 16-bit
     * types are rounded from single precision.
     */
    public long bits(double value) {
        return switch (this) {
            case F16 -> Short.toUnsignedLong(Float.floatToFloat16((float) value));
            case BF16 -> upperHalf(Float.floatToIntBits((float) value));
            case F32 -> Integer.toUnsignedLong(Float.floatToRawIntBits((float) value));
            case F64 -> Double.doubleToRawLongBits(value);
        };
    }

    /** The bits of a binary32 rounded to its upper 16 bits. */
    private static long upperHalf(int bits) {
        int tie = bits >>> Short.SIZE & 1;
        int rounded = Float.isNaN(Float.intBitsToFloat(bits)) ? bits : bits + 0x7FFF + tie;
        return rounded >>> Short.SIZE;
    }
}
