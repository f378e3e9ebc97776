package org.isobar.data.source;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * Inverts the two shuffle filters. Shuffled bytes are first all first bytes of the elements, then all second bytes, and
 * so on; shuffled bits likewise (Masui et al., 2015, "A compression scheme for radio data in high performance
 * computing", section 3.2). Bytes behind the last whole element are as they were.
 */
public final class Unshuffle {
    private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
    private static final ValueLayout.OfShort SHORT =
        ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int BITS = Byte.SIZE;

    private Unshuffle() { }

    /** Sorts bytes back to elements. Both segments have the same size. */
    public static void bytes(MemorySegment shuffled, MemorySegment elements, int elementBytes) {
        long count = shuffled.byteSize() / elementBytes;
        bytes(shuffled, elementBytes, 0, Math.toIntExact(count), elements);
        long whole = count * elementBytes;
        MemorySegment.copy(shuffled, whole, elements, whole, shuffled.byteSize() - whole);
    }

    /**
     * Sorts the bytes of some elements.
     *
     * @param shuffled all bytes that were shuffled together
     * @param first    number of the first element
     * @param target   receives {@code count} elements from its first byte on
     */
    public static void bytes(MemorySegment shuffled, int elementBytes, long first, int count, MemorySegment target) {
        long all = shuffled.byteSize() / elementBytes;
        switch (elementBytes) {
            case Short.BYTES -> shorts(shuffled, all, first, count, target);
            case Integer.BYTES -> ints(shuffled, all, first, count, target);
            case Long.BYTES -> longs(shuffled, all, first, count, target);
            default -> {
                for (int b = 0; b < elementBytes; b++) {
                    for (int i = 0; i < count; i++) {
                        target.set(BYTE, (long) i * elementBytes + b, shuffled.get(BYTE, b * all + first + i));
                    }
                }
            }
        }
    }

    private static void shorts(MemorySegment shuffled, long all, long first, int count, MemorySegment target) {
        long second = all + first;
        for (int i = 0; i < count; i++) {
            target.set(SHORT, (long) i * Short.BYTES,
                (short) (unsigned(shuffled, first + i) | unsigned(shuffled, second + i) << BITS));
        }
    }

    private static void ints(MemorySegment shuffled, long all, long first, int count, MemorySegment target) {
        long second = all + first;
        long third = 2 * all + first;
        long fourth = 3 * all + first;
        for (int i = 0; i < count; i++) {
            target.set(INT, (long) i * Integer.BYTES, unsigned(shuffled, first + i)
                | unsigned(shuffled, second + i) << BITS
                | unsigned(shuffled, third + i) << 2 * BITS
                | unsigned(shuffled, fourth + i) << 3 * BITS);
        }
    }

    private static void longs(MemorySegment shuffled, long all, long first, int count, MemorySegment target) {
        for (int i = 0; i < count; i++) {
            long element = 0;
            for (int b = Long.BYTES - 1; b >= 0; b--) {
                element = element << BITS | unsigned(shuffled, b * all + first + i);
            }
            target.set(LONG, (long) i * Long.BYTES, element);
        }
    }

    private static int unsigned(MemorySegment bytes, long at) {
        return bytes.get(BYTE, at) & 0xFF;
    }

    /**
     * Sorts bits back to elements, if there is a multiple of eight of these; else nothing was shuffled. Both segments
     * have the same size.
     */
    public static void bits(MemorySegment shuffled, MemorySegment elements, int elementBytes) {
        int count = (int) (shuffled.byteSize() / elementBytes);
        long whole = count % BITS == 0 ? (long) count * elementBytes : 0;
        int row = count / BITS; // bytes that have one bit of all elements
        for (int b = 0; b < elementBytes && whole > 0; b++) {
            for (int j = 0; j < row; j++) {
                long square = 0;
                for (int k = BITS - 1; k >= 0; k--) {
                    square = square << BITS | unsigned(shuffled, ((long) b * BITS + k) * row + j);
                }
                square = transpose(square);
                for (int i = 0; i < BITS; i++, square >>>= BITS) {
                    elements.set(BYTE, ((long) j * BITS + i) * elementBytes + b, (byte) square);
                }
            }
        }
        MemorySegment.copy(shuffled, whole, elements, whole, shuffled.byteSize() - whole);
    }

    /** Transposes 8 x 8 bits: swaps squares of 1, 2 and 4 bits across the diagonal (Warren, Hacker's Delight, 7-3). */
    private static long transpose(long bits) {
        long x = bits;
        long t = (x ^ x >>> 7) & 0x00AA00AA00AA00AAL;
        x ^= t ^ t << 7;
        t = (x ^ x >>> 14) & 0x0000CCCC0000CCCCL;
        x ^= t ^ t << 14;
        t = (x ^ x >>> 28) & 0x00000000F0F0F0F0L;
        return x ^ t ^ t << 28;
    }
}
