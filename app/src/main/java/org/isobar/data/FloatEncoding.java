package org.isobar.data;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

import org.isobar.backend.cpu.generated.ArrayCode;

/**
 * Size and byte order of the floating-point numbers in a file.
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
    private static final long BLOCK = 1 << 14; // numbers
    /** Numbers that are copied at once. Of longer copies, reads from memory and divisions overlap less. */
    private static final long COPIED = 1 << 8;
    /** Each thread's copy of numbers in single precision. */
    private static final ThreadLocal<MemorySegment> COPY =
        ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(COPIED * Float.BYTES, Long.BYTES));
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
     * Computes {@code target[i] = (source[i] - mean) / spread} for {@code count} consecutive numbers. Arithmetic is in
     * the precision of the source; the result is in single precision and native byte order. A mean of 0 and a spread of
     * 1 copy numbers in single precision as they are.
     *
     * <p>The source may be a mapped file. A page that cannot be read, as the file was shortened or the disk failed, is
     * an {@code InternalError}. Numbers in single precision are copied first, which is safe. Of double precision, each
     * block begins with a plain read of its last byte. In a compiled method with a plain read, the JVM throws that
     * error for its reads of vectors, too; in others, these end the JVM. While this method is not compiled, its plain
     * read finds that the file was shortened before the block; a fault within the block may still end the JVM.
     *
     * @param from byte offset in {@code source}
     * @param to   byte offset in {@code target}
     */
    void normalize(MemorySegment source, long from, long count, float mean, float spread,
                   MemorySegment target, long to) {
        if (bytes == Double.BYTES) {
            normalizeDoubles(source, from, count, mean, spread, target, to);
        } else if (mean == 0 && spread == 1) {
            copy(source, from, count, target, to);
        } else {
            MemorySegment block = COPY.get();
            for (long i = 0; i < count; i += COPIED) {
                int length = (int) Math.min(COPIED, count - i);
                copy(source, from + 4 * i, length, block, 0);
                normalizeBlock(block, length, mean, spread, target, to + 4 * i);
            }
        }
    }

    private void copy(MemorySegment source, long from, long count, MemorySegment target, long to) {
        MemorySegment.copy(source, floatLayout, from, target, TARGET, to, count);
    }

    private static void normalizeBlock(MemorySegment block, int count, float mean, float spread, MemorySegment target,
                                       long to) {
        ByteOrder nativeOrder = ByteOrder.nativeOrder();
        int i = target.isNative() ? ArrayCode.normalize(target, to, block, count, mean, spread) : 0;
        for (; i <= count - FLOATS.length(); i += FLOATS.length()) {
            FloatVector.fromMemorySegment(FLOATS, block, 4L * i, nativeOrder).sub(mean).div(spread)
                .intoMemorySegment(target, to + 4L * i, nativeOrder);
        }
        for (; i < count; i++) {
            target.set(TARGET, to + 4L * i, (block.get(TARGET, 4L * i) - mean) / spread);
        }
    }

    private void normalizeDoubles(MemorySegment source, long from, long count, float mean, float spread,
                                  MemorySegment target, long to) {
        ByteOrder nativeOrder = ByteOrder.nativeOrder();
        DoubleVector means = DoubleVector.broadcast(DOUBLES, mean);
        DoubleVector spreads = DoubleVector.broadcast(DOUBLES, spread);
        long i = 0;
        while (i < count) {
            long end = Math.min(count, i + BLOCK);
            source.get(ValueLayout.JAVA_BYTE, from + 8 * end - 1);
            for (; i <= end - DOUBLES.length(); i += DOUBLES.length()) {
                DoubleVector normal = DoubleVector.fromMemorySegment(DOUBLES, source, from + 8 * i, order)
                    .sub(means).div(spreads);
                ((FloatVector) normal.convertShape(VectorOperators.D2F, NARROWED, 0))
                    .intoMemorySegment(target, to + 4 * i, nativeOrder);
            }
            for (; i < end; i++) {
                target.set(TARGET, to + 4 * i, (float) ((source.get(doubleLayout, from + 8 * i) - mean) / spread));
            }
        }
    }
}
