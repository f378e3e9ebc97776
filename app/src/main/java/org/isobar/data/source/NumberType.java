package org.isobar.data.source;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Type of the elements of an array. */
public enum NumberType {
    /** Signed integer of 8 bits. */
    I8(1),
    /** Unsigned integer of 8 bits. */
    U8(1),
    /** Signed integer of 16 bits. */
    I16(2),
    /** Unsigned integer of 16 bits. */
    U16(2),
    /** Signed integer of 32 bits. */
    I32(4),
    /** Unsigned integer of 32 bits. */
    U32(4),
    /** Signed integer of 64 bits. */
    I64(8),
    /** Unsigned integer of 64 bits. */
    U64(8),
    /** IEEE 754 binary16. */
    F16(2),
    /** IEEE 754 binary32. */
    F32(4),
    /** IEEE 754 binary64. */
    F64(8);

    private static final long MASK = 0xFFFFFFFFL;

    private final int bytes;

    NumberType(int bytes) {
        this.bytes = bytes;
    }

    /** Size of an element in bytes. */
    public int bytes() {
        return bytes;
    }

    /** Whether the elements are floating-point numbers. */
    public boolean isFloat() {
        return this == F16 || this == F32 || this == F64;
    }

    /** The unsigned integer type of the same size; this type itself if it has none. */
    public NumberType unsigned() {
        return switch (this) {
            case I8 -> U8;
            case I16 -> U16;
            case I32 -> U32;
            case I64 -> U64;
            default -> this;
        };
    }

    /**
     * Widens elements in native byte order to double precision. Integers of more than 53 bits are rounded.
     *
     * @param index  number of the first element in {@code source}
     * @param stride elements from one to the next
     * @param target receives {@code count} elements from its first on
     */
    public void widen(MemorySegment source, long index, int stride, int count, double[] target) {
        long at = index * bytes;
        for (int i = 0; i < count; i++, at += (long) stride * bytes) {
            target[i] = switch (this) {
                case I8 -> source.get(ValueLayout.JAVA_BYTE, at);
                case U8 -> source.get(ValueLayout.JAVA_BYTE, at) & 0xFF;
                case I16 -> source.get(ValueLayout.JAVA_SHORT_UNALIGNED, at);
                case U16 -> source.get(ValueLayout.JAVA_SHORT_UNALIGNED, at) & 0xFFFF;
                case I32 -> source.get(ValueLayout.JAVA_INT_UNALIGNED, at);
                case U32 -> source.get(ValueLayout.JAVA_INT_UNALIGNED, at) & MASK;
                case I64 -> source.get(ValueLayout.JAVA_LONG_UNALIGNED, at);
                case U64 -> unsigned(source.get(ValueLayout.JAVA_LONG_UNALIGNED, at));
                case F16 -> Float.float16ToFloat(source.get(ValueLayout.JAVA_SHORT_UNALIGNED, at));
                case F32 -> source.get(ValueLayout.JAVA_FLOAT_UNALIGNED, at);
                case F64 -> source.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, at);
            };
        }
    }

    /** Widens elements that are one after another, as {@link #widen(MemorySegment, long, int, int, double[])} does. */
    public void widen(MemorySegment source, long index, int count, double[] target) {
        widen(source, index, 1, count, target);
    }

    private static double unsigned(long bits) {
        return bits >= 0 ? bits : ((bits >>> 1) | (bits & 1)) * 2.0; // rounds as one conversion would
    }

    /**
     * Stores a number as an element in native byte order, converted as Java converts numbers.
     *
     * @param index number of the element in {@code target}
     */
    public void narrow(double value, MemorySegment target, long index) {
        long at = index * bytes;
        switch (this) {
            case I8, U8 -> target.set(ValueLayout.JAVA_BYTE, at, (byte) (int) value);
            case I16, U16 -> target.set(ValueLayout.JAVA_SHORT_UNALIGNED, at, (short) (int) value);
            case I32, U32 -> target.set(ValueLayout.JAVA_INT_UNALIGNED, at, (int) (long) value);
            case I64, U64 -> target.set(ValueLayout.JAVA_LONG_UNALIGNED, at, (long) value);
            case F16 -> target.set(ValueLayout.JAVA_SHORT_UNALIGNED, at, Float.floatToFloat16((float) value));
            case F32 -> target.set(ValueLayout.JAVA_FLOAT_UNALIGNED, at, (float) value);
            case F64 -> target.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, at, value);
            default -> throw new IllegalStateException(name());
        }
    }

    /** Reverses the bytes of the first elements of a segment if they are in another byte order than the native one. */
    public void toNative(MemorySegment elements, long count, ByteOrder order) {
        if (order == ByteOrder.nativeOrder() || bytes == 1) {
            return;
        }
        for (long at = 0; at < count * bytes; at += bytes) {
            switch (bytes) {
                case Short.BYTES -> elements.set(ValueLayout.JAVA_SHORT_UNALIGNED, at,
                    Short.reverseBytes(elements.get(ValueLayout.JAVA_SHORT_UNALIGNED, at)));
                case Integer.BYTES -> elements.set(ValueLayout.JAVA_INT_UNALIGNED, at,
                    Integer.reverseBytes(elements.get(ValueLayout.JAVA_INT_UNALIGNED, at)));
                default -> elements.set(ValueLayout.JAVA_LONG_UNALIGNED, at,
                    Long.reverseBytes(elements.get(ValueLayout.JAVA_LONG_UNALIGNED, at)));
            }
        }
    }
}
