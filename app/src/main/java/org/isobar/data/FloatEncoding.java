package org.isobar.data;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/**
 * Size and byte order of the floating-point numbers in a file. {@link #normalize} converts them in a single pass: load,
 * swap bytes, subtract, divide, narrow, store.
 */
enum FloatEncoding {
    /** IEEE 754 binary32, least significant byte first. */
    F32_LITTLE(4, ByteOrder.LITTLE_ENDIAN),
    /** IEEE 754 binary32, most significant byte first. */
    F32_BIG(4, ByteOrder.BIG_ENDIAN),
    /** IEEE 754 binary64, least significant byte first. */
    F64_LITTLE(8, ByteOrder.LITTLE_ENDIAN),
    /** IEEE 754 binary64, most significant byte first. */
    F64_BIG(8, ByteOrder.BIG_ENDIAN);

    private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Double> DOUBLES = DoubleVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Float> NARROWED =
        VectorSpecies.of(float.class, VectorShape.forBitSize(DOUBLES.vectorBitSize() / 2));
    /** Large enough to copy at full speed, small enough to stay in the core's first cache until it is normalized. */
    private static final int BLOCK_BYTES = 4 << 10;
    /** The target's numbers: single precision, native byte order, at any address. */
    static final ValueLayout.OfFloat TARGET = ValueLayout.JAVA_FLOAT_UNALIGNED;

    private final int bytes;
    private final ByteOrder order;
    private final ValueLayout.OfFloat floatLayout; // created once, so that reading a row allocates nothing
    private final ValueLayout.OfDouble doubleLayout;

    FloatEncoding(int bytes, ByteOrder order) {
        this.bytes = bytes;
        this.order = order;
        floatLayout = ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(order);
        doubleLayout = ValueLayout.JAVA_DOUBLE_UNALIGNED.withOrder(order);
    }

    /** The encoding of the given size and byte order. */
    static FloatEncoding of(int bytes, ByteOrder order) {
        boolean little = order == ByteOrder.LITTLE_ENDIAN;
        return bytes == 4 ? little ? F32_LITTLE : F32_BIG : little ? F64_LITTLE : F64_BIG;
    }

    /** Size of a number in bytes. */
    int bytes() {
        return bytes;
    }

    /**
     * Normalizes as {@link #normalize} does, from a file that is mapped into memory. Blocks are copied to the target,
     * then normalized. Of all bulk accesses, only {@link MemorySegment#copy} makes the JVM turn a page that cannot be
     * read into an {@code InternalError}. In a compiled loop over vectors such a page ends the JVM.
     */
    void normalizeMapped(MemorySegment mapped, long from, long count, float mean, float spread,
                         MemorySegment target, long to) {
        long done = 0;
        while (done < count) {
            long room = (count - done) * Float.BYTES / bytes; // numbers that fit into the rest of the target
            long block = Math.min(room, BLOCK_BYTES / bytes);
            long place = to + done * Float.BYTES;
            if (block == 0) { // the last of numbers that are wider than the target's
                normalize(mapped, from + done * bytes, 1, mean, spread, target, place);
                return;
            }
            MemorySegment.copy(mapped, from + done * bytes, target, place, block * bytes);
            normalize(target, place, block, mean, spread, target, place);
            done += block;
        }
    }

    /**
     * Reads numbers as they are from a file that is mapped into memory, in single precision and native byte order.
     *
     * @param from byte offset in {@code mapped}
     * @param to   byte offset in {@code target}
     */
    void copyMapped(MemorySegment mapped, long from, long count, MemorySegment target, long to) {
        if (bytes == Float.BYTES && order == ByteOrder.nativeOrder()) {
            MemorySegment.copy(mapped, from, target, to, count * bytes);
        } else {
            normalizeMapped(mapped, from, count, 0, 1, target, to);
        }
    }

    /**
     * Computes {@code target[i] = (source[i] - mean) / spread} for {@code count} consecutive numbers. Arithmetic is in
     * the precision of the source; the result is in single precision and native byte order. Source and target may
     * begin at the same byte.
     *
     * @param from byte offset in {@code source}
     * @param to   byte offset in {@code target}
     */
    void normalize(MemorySegment source, long from, long count, float mean, float spread,
                   MemorySegment target, long to) {
        if (bytes == 4) {
            normalizeFloats(source, from, count, mean, spread, target, to);
        } else {
            normalizeDoubles(source, from, count, mean, spread, target, to);
        }
    }

    private void normalizeFloats(MemorySegment source, long from, long count, float mean, float spread,
                                 MemorySegment target, long to) {
        ByteOrder nativeOrder = ByteOrder.nativeOrder();
        FloatVector means = FloatVector.broadcast(FLOATS, mean);
        FloatVector spreads = FloatVector.broadcast(FLOATS, spread);
        long i = 0;
        for (; i <= count - FLOATS.length(); i += FLOATS.length()) {
            FloatVector.fromMemorySegment(FLOATS, source, from + 4 * i, order).sub(means).div(spreads)
                .intoMemorySegment(target, to + 4 * i, nativeOrder);
        }
        for (; i < count; i++) {
            target.set(TARGET, to + 4 * i, (source.get(floatLayout, from + 4 * i) - mean) / spread);
        }
    }

    private void normalizeDoubles(MemorySegment source, long from, long count, float mean, float spread,
                                  MemorySegment target, long to) {
        ByteOrder nativeOrder = ByteOrder.nativeOrder();
        DoubleVector means = DoubleVector.broadcast(DOUBLES, mean);
        DoubleVector spreads = DoubleVector.broadcast(DOUBLES, spread);
        long i = 0;
        for (; i <= count - DOUBLES.length(); i += DOUBLES.length()) {
            DoubleVector normal = DoubleVector.fromMemorySegment(DOUBLES, source, from + 8 * i, order)
                .sub(means).div(spreads);
            ((FloatVector) normal.convertShape(VectorOperators.D2F, NARROWED, 0))
                .intoMemorySegment(target, to + 4 * i, nativeOrder);
        }
        for (; i < count; i++) {
            target.set(TARGET, to + 4 * i, (float) ((source.get(doubleLayout, from + 8 * i) - mean) / spread));
        }
    }
}
