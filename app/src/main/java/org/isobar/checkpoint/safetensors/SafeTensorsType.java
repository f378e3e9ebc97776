package org.isobar.checkpoint.safetensors;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Element types of the safetensors format, and the conversion of its floating-point types to binary32. */
public enum SafeTensorsType {
    F32(4), F64(8), F16(2), BF16(2),
    I64(8), U64(8), I32(4), U32(4), I16(2), U16(2), I8(1), U8(1), BOOL(1), F8_E4M3(1), F8_E5M2(1);

    private static final ValueLayout.OfFloat FLOAT =
        ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfDouble DOUBLE =
        ValueLayout.JAVA_DOUBLE_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfShort HALF =
        ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final int bytes;

    SafeTensorsType(int bytes) {
        this.bytes = bytes;
    }

    /** Size of one element. */
    int bytes() {
        return bytes;
    }

    /** Whether {@link #toFloats} can convert this type. */
    boolean isReadable() {
        return this == F32 || this == F64 || this == F16 || this == BF16;
    }

    /** Converts stored elements to floats in native byte order. F64 is rounded; the other types convert exactly. */
    void toFloats(MemorySegment stored, MemorySegment floats) {
        long count = stored.byteSize() / bytes;
        if (this == F32) {
            MemorySegment.copy(stored, FLOAT, 0, floats, ValueLayout.JAVA_FLOAT_UNALIGNED, 0, count);
            return;
        }
        for (long i = 0; i < count; i++) {
            floats.setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, toFloat(stored, i * bytes));
        }
    }

    private float toFloat(MemorySegment stored, long offset) {
        return switch (this) {
            case F64 -> (float) stored.get(DOUBLE, offset);
            case F16 -> Float.float16ToFloat(stored.get(HALF, offset));
            case BF16 -> Float.intBitsToFloat(stored.get(HALF, offset) << Short.SIZE); // the upper half of a binary32
            default -> throw new IllegalStateException(this + " has no conversion to F32");
        };
    }
}
