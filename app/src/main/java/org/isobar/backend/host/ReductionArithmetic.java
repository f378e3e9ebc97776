package org.isobar.backend.host;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.Reduction;
import org.isobar.tensor.DType;

/** Combines the values of two ranks element by element, so that the bits do not depend on how data is divided. */
final class ReductionArithmetic {
    private static final VectorSpecies<Float> F32 = FloatVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Double> F64 = DoubleVector.SPECIES_PREFERRED;
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();

    private final DType dtype;
    private final boolean max;
    private final double scale;

    /** The arithmetic of {@code call} in a group of {@code ranks} ranks. */
    ReductionArithmetic(CollectiveCall call, int ranks) {
        dtype = call.dtype();
        max = call.reduction().kind() == Reduction.Kind.MAX;
        scale = call.reduction().scale(ranks);
    }

    /** {@code out = earlier (+) own}, not yet scaled. {@code out} may be either of them. */
    void combine(MemorySegment out, MemorySegment earlier, MemorySegment own) {
        apply(out, earlier, own, 1);
    }

    /** {@code out = (earlier (+) own) * scale}: the last step. {@code out} may be either of them. */
    void finish(MemorySegment out, MemorySegment earlier, MemorySegment own) {
        apply(out, earlier, own, scale);
    }

    private void apply(MemorySegment out, MemorySegment a, MemorySegment b, double factor) {
        switch (dtype) {
            case BF16 -> applyBf16(out, a, b, (float) factor);
            case F32 -> applyF32(out, a, b, (float) factor);
            case F64 -> applyF64(out, a, b, factor);
            default -> throw new IllegalArgumentException("cannot reduce " + dtype);
        }
    }

    /** Computes in single precision and rounds each stored result to BF16. */
    private void applyBf16(MemorySegment out, MemorySegment a, MemorySegment b, float factor) {
        for (long i = 0; i < out.byteSize(); i += Short.BYTES) {
            float x = Float.intBitsToFloat(a.get(JAVA_SHORT_UNALIGNED, i) << Short.SIZE);
            float y = Float.intBitsToFloat(b.get(JAVA_SHORT_UNALIGNED, i) << Short.SIZE);
            float result = (max ? Math.max(x, y) : x + y) * factor;
            out.set(JAVA_SHORT_UNALIGNED, i, (short) DType.BF16.bits(result));
        }
    }

    private void applyF32(MemorySegment out, MemorySegment a, MemorySegment b, float factor) {
        long end = out.byteSize();
        long step = F32.vectorByteSize();
        long i = 0;
        for (; i + step <= end; i += step) {
            FloatVector x = FloatVector.fromMemorySegment(F32, a, i, ORDER);
            FloatVector y = FloatVector.fromMemorySegment(F32, b, i, ORDER);
            (max ? x.max(y) : x.add(y)).mul(factor).intoMemorySegment(out, i, ORDER);
        }
        for (; i < end; i += Float.BYTES) {
            float x = a.get(JAVA_FLOAT_UNALIGNED, i);
            float y = b.get(JAVA_FLOAT_UNALIGNED, i);
            out.set(JAVA_FLOAT_UNALIGNED, i, (max ? Math.max(x, y) : x + y) * factor);
        }
    }

    private void applyF64(MemorySegment out, MemorySegment a, MemorySegment b, double factor) {
        long end = out.byteSize();
        long step = F64.vectorByteSize();
        long i = 0;
        for (; i + step <= end; i += step) {
            DoubleVector x = DoubleVector.fromMemorySegment(F64, a, i, ORDER);
            DoubleVector y = DoubleVector.fromMemorySegment(F64, b, i, ORDER);
            (max ? x.max(y) : x.add(y)).mul(factor).intoMemorySegment(out, i, ORDER);
        }
        for (; i < end; i += Double.BYTES) {
            double x = a.get(JAVA_DOUBLE_UNALIGNED, i);
            double y = b.get(JAVA_DOUBLE_UNALIGNED, i);
            out.set(JAVA_DOUBLE_UNALIGNED, i, (max ? Math.max(x, y) : x + y) * factor);
        }
    }
}
