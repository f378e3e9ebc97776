package org.isobar.verify.reference;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

import org.isobar.tensor.DType;

/** Bit-exact conversion to and from each type, without hardware conversions. */
public final class NumberFormats {
    private NumberFormats() { }

    /** Bits of a number's significand, the leading one included. */
    static int precision(DType dtype) {
        return switch (dtype) {
            case F16 -> 11;
            case BF16 -> 8;
            case F32 -> 24;
            case F64 -> 53;
        };
    }

    /** Exponent of the smallest normal number. */
    private static int smallestExponent(DType dtype) {
        return dtype == DType.F16 ? -14 : dtype == DType.F64 ? Double.MIN_EXPONENT : Float.MIN_EXPONENT;
    }

    /** Exponent of the largest number. */
    private static int largestExponent(DType dtype) {
        return dtype == DType.F16 ? 15 : dtype == DType.F64 ? Double.MAX_EXPONENT : Float.MAX_EXPONENT;
    }

    /** Largest relative error of rounding to the type: half a unit in the last place of 1. */
    public static double roundoff(DType dtype) {
        return Math.scalb(1.0, -precision(dtype));
    }

    /** Largest error of rounding to the type where numbers are subnormal: half the smallest number above zero. */
    public static double underflow(DType dtype) {
        return Math.scalb(1.0, smallestExponent(dtype) - precision(dtype));
    }

    /** Largest finite number of the type. */
    public static double largest(DType dtype) {
        return (2 - 2 * roundoff(dtype)) * Math.scalb(1.0, largestExponent(dtype));
    }

    /**
     * {@code x} rounded to the nearest number of the type, ties to even; numbers beyond the largest become infinity.
     */
    public static double round(double x, DType dtype) {
        // Compiled arithmetic keeps the sign of a NaN and interpreted Math.rint clears it, so the bits would depend on
        // when this method was compiled.
        if (dtype == DType.F64 || Double.isNaN(x)) {
            return x;
        }
        int exponent = Math.max(Math.getExponent(x), smallestExponent(dtype));
        double unit = Math.scalb(1.0, exponent + 1 - precision(dtype));
        double rounded = Math.rint(x / unit) * unit;
        return Math.abs(rounded) > largest(dtype) ? Math.copySign(Double.POSITIVE_INFINITY, x) : rounded;
    }

    /** Writes {@code x}, rounded to the type, as element {@code index}. */
    public static void put(MemorySegment memory, DType dtype, long index, double x) {
        double y = round(x, dtype);
        switch (dtype) {
            case F16 -> memory.setAtIndex(ValueLayout.JAVA_SHORT, index, Float.floatToFloat16((float) y));
            case BF16 -> memory.setAtIndex(ValueLayout.JAVA_SHORT, index,
                (short) (Float.floatToIntBits((float) y) >>> 16)); // exact: the lower half is zero by now
            case F32 -> memory.setAtIndex(ValueLayout.JAVA_FLOAT, index, (float) y);
            default -> memory.setAtIndex(ValueLayout.JAVA_DOUBLE, index, y);
        }
    }

    /** Element {@code index}. */
    public static double take(MemorySegment memory, DType dtype, long index) {
        return switch (dtype) {
            case F16 -> Float.float16ToFloat(memory.getAtIndex(ValueLayout.JAVA_SHORT, index));
            case BF16 -> Float.intBitsToFloat(memory.getAtIndex(ValueLayout.JAVA_SHORT, index) << 16);
            case F32 -> memory.getAtIndex(ValueLayout.JAVA_FLOAT, index);
            case F64 -> memory.getAtIndex(ValueLayout.JAVA_DOUBLE, index);
        };
    }
}
