package org.isobar.backend.cpu.attention;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.backend.cpu.vector.PowerPolynomial;

/**
 * Powers of two for a softmax. Exponents are mostly negative, and the caller ensures the bounds.
 *
 * <p>{@link PowerPolynomial} has the method; the product with 2^n is exact.
 */
final class SoftmaxPower {
    static final VectorSpecies<Integer> I32 = IntVector.SPECIES_PREFERRED;
    /**
     * Selects the bits of {@link #shifted} that are those of {@link #WITHIN} for x from -127.5 to 128.5, and for no
     * other x and no NaN.
     */
    static final IntVector BEYOND = IntVector.broadcast(I32, PowerPolynomial.BEYOND);
    static final IntVector WITHIN = IntVector.broadcast(I32, PowerPolynomial.WITHIN);

    // Constants are vectors: a scalar operand would be broadcast by a method of its own, and C2 stops inlining (at
    // NodeCountInliningCutoff) before the end of a loop with many operations, and makes objects of the loop's vectors.
    private static final FloatVector ROUND = constant(PowerPolynomial.ROUND_BITS);
    private static final FloatVector LEAST = constant(PowerPolynomial.LEAST);
    private static final FloatVector P0 = constant(PowerPolynomial.P0);
    private static final FloatVector P1 = constant(PowerPolynomial.P1);
    private static final FloatVector P2 = constant(PowerPolynomial.P2);
    private static final FloatVector P3 = constant(PowerPolynomial.P3);
    private static final FloatVector P4 = constant(PowerPolynomial.P4);
    private static final FloatVector P5 = constant(PowerPolynomial.P5);

    private static final FloatVector H1 = constant(PowerPolynomial.H1);
    private static final FloatVector H2 = constant(PowerPolynomial.H2);
    private static final FloatVector H3 = constant(PowerPolynomial.H3);
    private static final FloatVector H4 = constant(PowerPolynomial.H4);

    private SoftmaxPower() { }

    private static FloatVector constant(float value) {
        return FloatVector.broadcast(Lanes.F32, value);
    }

    /** Returns max(x, -125); NaN remains NaN. */
    static FloatVector bounded(FloatVector x) {
        return x.blend(LEAST, x.compare(VectorOperators.LT, LEAST));
    }

    /** Returns a vector with the integer nearest to each exponent, plus 127, in the lowest bits. */
    static FloatVector shifted(FloatVector x) {
        return x.add(ROUND);
    }

    /** Returns 2^x within three units in the last place, for x from -125 to 127.5; NaN for NaN and for infinities. */
    static FloatVector of(FloatVector x, FloatVector shifted) {
        FloatVector r = x.sub(shifted.sub(ROUND));
        FloatVector p01 = r.fma(P1, P0);
        FloatVector p23 = r.fma(P3, P2);
        FloatVector p45 = r.fma(P5, P4);
        FloatVector square = r.mul(r);
        FloatVector p = p45.fma(square, p23).fma(square, p01);
        IntVector power = shifted.reinterpretAsInts().lanewise(VectorOperators.LSHL, PowerPolynomial.MANTISSA_BITS);
        return p.mul(power.reinterpretAsFloats()); // adding exponent bits instead would turn NaN into a number
    }

    /**
     * Returns 2^x like {@link #of}, with a relative error of at most 2^-18, for weights that are rounded to BF16.
     * Horner's scheme takes the fewest operations; C2 has to inline two of them into one loop.
     */
    static FloatVector ofHalf(FloatVector x, FloatVector shifted) {
        FloatVector r = x.sub(shifted.sub(ROUND));
        FloatVector p = r.fma(H4, H3).fma(r, H2).fma(r, H1).fma(r, P0);
        IntVector power = shifted.reinterpretAsInts().lanewise(VectorOperators.LSHL, PowerPolynomial.MANTISSA_BITS);
        return p.mul(power.reinterpretAsFloats());
    }

    /** Returns 2^x for a weight. An exponent above 1, which rounding of large numbers can produce, yields 2. */
    static FloatVector ofWeight(FloatVector x) {
        FloatVector bounded = bounded(x).blend(P0, x.compare(VectorOperators.GT, P0));
        return of(bounded, shifted(bounded));
    }
}
