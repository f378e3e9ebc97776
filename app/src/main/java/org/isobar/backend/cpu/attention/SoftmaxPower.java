package org.isobar.backend.cpu.attention;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Powers of two for a softmax, whose exponents are mostly negative and whose bounds are watched by who asks: with fewer
 * instructions than {@link org.isobar.backend.cpu.vector.VectorMath#exp}.
 *
 * <p>x = n + r with |r| at most 1/2; 2^r = 1 + r s(r), where s is the polynomial of degree four for which the greatest
 * relative error is the smallest (2^-23 of 2^r); the product with 2^n is exact.
 */
final class SoftmaxPower {
    static final VectorSpecies<Integer> I32 = IntVector.SPECIES_PREFERRED;
    /**
     * Added to a small number, leaves in the lowest bits of the sum its nearest integer and 127, which together are the
     * exponent's bits of a power of two: 1.5 * 2^23 + 127.
     */
    private static final float ROUND = 0x1.8p23f + 127;
    /** The bits of {@link #shifted} for n = 0; for every other n they are greater by n. */
    static final int ZERO = Float.floatToIntBits(ROUND);
    /** Whatever is smaller counts as this: its power is next to nothing, and a normal number. */
    private static final float LEAST = -125;
    private static final int MANTISSA_BITS = 23;

    private SoftmaxPower() { }

    /** Exponents no smaller than -125, so small ones being that; NaN remains. */
    static FloatVector bounded(FloatVector x) {
        return x.blend(LEAST, x.compare(VectorOperators.LT, LEAST));
    }

    /** The integer nearest to each exponent, and 127, in the lowest bits. */
    static FloatVector shifted(FloatVector x) {
        return x.add(ROUND);
    }

    /** 2^x within three units in the last place, for x from -125 to 127.5; NaN for NaN, and for infinities. */
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
        return p.mul(power.reinterpretAsFloats()); // and not by adding bits, which would make a number of NaN
    }

    /** The same, for weights: of what is greater than 1, as rounding of large numbers may make it, 2. */
    static FloatVector ofWeight(FloatVector x) {
        FloatVector bounded = bounded(x).blend(1, x.compare(VectorOperators.GT, 1));
        return of(bounded, shifted(bounded));
    }
}
