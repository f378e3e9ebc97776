package org.isobar.backend.cpu.attention;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

import org.isobar.backend.cpu.vector.Bfloat16;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.backend.cpu.vector.PowerPolynomial;
import org.isobar.tensor.DType;

/**
 * Loops that compute the weights 2^(factor (score - m)) of consecutive scores of a row, in whole vectors, and add them
 * to one vector of sums. The fast loops do not bound the exponents; they check at their end that all were in range.
 *
 * <p>Each loop is compiled separately (app/jvm.options), and the fast ones call few methods: C2 stops inlining when a
 * loop has too many nodes, and then allocates the loop's vectors as objects.
 */
final class SoftmaxWeights {
    /** Binary logarithm of {@link PowerPolynomial#GREATEST_SUM}. */
    static final int LEAP = 40;
    /** No limit. */
    static final int ANY = Integer.MAX_VALUE - PowerPolynomial.ZERO;
    private static final FloatVector GREATEST_SUM = FloatVector.broadcast(Lanes.F32, PowerPolynomial.GREATEST_SUM);

    private SoftmaxWeights() { }

    /**
     * Computes weights in F32; {@code count} is a multiple of a vector's lanes. Returns false, and leaves the sums
     * unchanged, if an exponent is not in range or a sum reaches 2^LEAP.
     */
    static boolean toFloats(MemorySegment scores, MemorySegment weights, int first, int count, float m, float factor,
        MemorySegment sums, int at) {
        FloatVector reference = FloatVector.broadcast(Lanes.F32, m);
        FloatVector scale = FloatVector.broadcast(Lanes.F32, factor);
        FloatVector sum = load(sums, at);
        IntVector range = IntVector.zero(SoftmaxPower.I32);
        for (int i = 0; i <= count - WIDTH; i += WIDTH) {
            FloatVector x = load(scores, first + i).sub(reference).mul(scale);
            FloatVector shifted = SoftmaxPower.shifted(x);
            range = range.or(shifted.reinterpretAsInts().lanewise(VectorOperators.XOR, SoftmaxPower.WITHIN));
            FloatVector weight = SoftmaxPower.of(x, shifted);
            Lanes.store(weights, first + i, weight);
            sum = sum.add(weight);
        }
        if (!range.and(SoftmaxPower.BEYOND).eq(0).allTrue() || !sum.lt(GREATEST_SUM).allTrue()) {
            return false;
        }
        Lanes.store(sums, at, sum);
        return true;
    }

    /** Computes weights in BF16 like {@link #toFloats}; {@code count} is a multiple of the lanes of two vectors. */
    static boolean toHalves(MemorySegment scores, MemorySegment weights, int first, int count, float m, float factor,
        MemorySegment sums, int at) {
        FloatVector reference = FloatVector.broadcast(Lanes.F32, -m * factor);
        FloatVector scale = FloatVector.broadcast(Lanes.F32, factor);
        FloatVector sum = load(sums, at);
        IntVector range = IntVector.zero(SoftmaxPower.I32);
        for (int i = 0; i <= count - 2 * WIDTH; i += 2 * WIDTH) {
            FloatVector x = load(scores, first + i).fma(scale, reference);
            FloatVector y = load(scores, first + i + WIDTH).fma(scale, reference);
            FloatVector shiftedX = SoftmaxPower.shifted(x);
            FloatVector shiftedY = SoftmaxPower.shifted(y);
            range = range.or(shiftedX.reinterpretAsInts().lanewise(VectorOperators.XOR, SoftmaxPower.WITHIN))
                .or(shiftedY.reinterpretAsInts().lanewise(VectorOperators.XOR, SoftmaxPower.WITHIN));
            FloatVector weightX = SoftmaxPower.ofHalf(x, shiftedX);
            FloatVector weightY = SoftmaxPower.ofHalf(y, shiftedY);
            Bfloat16.storePair(weights, first + i, weightX, weightY);
            sum = sum.add(weightX).add(weightY);
        }
        if (!range.and(SoftmaxPower.BEYOND).eq(0).allTrue() || !sum.lt(GREATEST_SUM).allTrue()) {
            return false;
        }
        Lanes.store(sums, at, sum);
        return true;
    }

    /**
     * Computes weights of any number of any scores. Returns false, and leaves the sums unchanged, if a score exceeds m
     * by more than {@code leap} octaves.
     */
    static boolean bounded(MemorySegment scores, DType dtype, MemorySegment weights, int first, int count, float m,
        float factor, int leap, MemorySegment sums, int at) {
        FloatVector reference = FloatVector.broadcast(Lanes.F32, m);
        FloatVector scale = FloatVector.broadcast(Lanes.F32, factor);
        FloatVector sum = load(sums, at);
        IntVector greatest = IntVector.broadcast(SoftmaxPower.I32, Integer.MIN_VALUE);
        for (int i = 0; i < count; i += WIDTH) {
            VectorMask<Float> rest = Lanes.below(i, count);
            FloatVector x = SoftmaxPower.bounded(load(scores, first + i).sub(reference).mul(scale));
            FloatVector shifted = SoftmaxPower.shifted(x);
            greatest = greatest.lanewise(VectorOperators.MAX, shifted.reinterpretAsInts(), rest.cast(SoftmaxPower.I32));
            FloatVector weight = SoftmaxPower.of(x, shifted);
            AttentionElements.storeTile(dtype, weights, first + i, weight);
            sum = sum.add(weight, rest);
        }
        if (greatest.reduceLanes(VectorOperators.MAX) > PowerPolynomial.ZERO + leap) {
            return false;
        }
        Lanes.store(sums, at, sum);
        return true;
    }
}
