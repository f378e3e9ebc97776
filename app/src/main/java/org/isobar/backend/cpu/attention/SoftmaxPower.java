package org.isobar.backend.cpu.attention;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Powers of two for a softmax. Takes fewer instructions than {@link org.isobar.backend.cpu.vector.VectorMath#exp}:
 * exponents are mostly negative, and the caller ensures the bounds.
 *
 * <p>x = n + r with |r| at most 1/2; 2^r = 1 + r s(r), where s is the minimax polynomial of degree four (maximum
 * relative error 2^-23 of 2^r); the product with 2^n is exact.
 */
final class SoftmaxPower {
    static final VectorSpecies<Integer> I32 = IntVector.SPECIES_PREFERRED;
    /**
     * 1.5 * 2^23 + 127. Adding it to a small number x leaves round(x) + 127, the biased exponent of a power of two, in
     * the lowest bits of the sum.
     */
    private static final float ROUND = 0x1.8p23f + 127;
    /** The bits of {@link #shifted} for n = 0. For any other n, the bits are greater by n. */
    static final int ZERO = Float.floatToIntBits(ROUND);
    /** Lower bound of the exponents. Its power of two is negligible but still a normal number. */
    private static final float LEAST = -125;
    private static final int MANTISSA_BITS = 23;

    private SoftmaxPower() { }

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
        VectorSpecies<Float> species = x.species();
        FloatVector r = x.sub(shifted.sub(ROUND));
        FloatVector square = r.mul(r);
        FloatVector p01 = r.fma(FloatVector.broadcast(species, 0x1.62e42ap-1f), FloatVector.broadcast(species, 1));
        FloatVector p23 = r.fma(FloatVector.broadcast(species, 0x1.c6b752p-5f),
            FloatVector.broadcast(species, 0x1.ebf9bcp-3f));
        FloatVector p45 = r.fma(FloatVector.broadcast(species, 0x1.5bba14p-10f),
            FloatVector.broadcast(species, 0x1.3cea88p-7f));
        FloatVector p = p45.fma(square, p23).fma(square, p01);
        IntVector power = shifted.reinterpretAsInts().lanewise(VectorOperators.LSHL, MANTISSA_BITS);
        return p.mul(power.reinterpretAsFloats()); // adding exponent bits instead would turn NaN into a number
    }

    /** Returns 2^x for a weight. An exponent above 1, which rounding of large numbers can produce, yields 2. */
    static FloatVector ofWeight(FloatVector x) {
        FloatVector bounded = bounded(x).blend(1, x.compare(VectorOperators.GT, 1));
        return of(bounded, shifted(bounded));
    }
}
