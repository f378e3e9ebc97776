package org.isobar.backend.cpu;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** Elementary functions of whole vectors. Each is one straight line of instructions, with no branch and no table. */
final class VectorMath {
    private static final float LOG2_E = 0x1.715476p0f;
    /** The upper nine bits of ln 2, so that small integers times it are exact, and what is left. */
    private static final float LN2_UPPER = 0.693359375f;
    private static final float LN2_LOWER = -2.12194440e-4f;
    /** Added to a small number, leaves its nearest integer in the lowest bits of the sum: 1.5 * 2^23. */
    private static final float ROUND = 0x1.8p23f;
    private static final int MANTISSA_BITS = 23;
    /** Smallest argument whose exponential is a normal number, and largest whose exponential is finite. */
    private static final float EXP_LOWEST = -0x1.5d589ep6f;
    private static final float EXP_HIGHEST = 0x1.62e42ep6f;

    /** Slope of the substitution q = 1 / (1 + MILLS_SLOPE x). */
    private static final float MILLS_SLOPE = 0.35f;

    private VectorMath() { }

    /**
     * e^x within one unit in the last place. Zero where the result would not be a normal number, infinite where it
     * would overflow, NaN for NaN.
     *
     * <p>x = n ln 2 + r with |r| at most ln 2 / 2; e^r = 1 + r + r^2 s(r), where s is the polynomial of degree four
     * with the smallest greatest relative error (2^-28 of e^r); n is added to the exponent's bits.
     */
    static FloatVector exp(FloatVector x) {
        VectorSpecies<Float> species = x.species();
        FloatVector round = FloatVector.broadcast(species, ROUND);
        FloatVector one = FloatVector.broadcast(species, 1);
        FloatVector shifted = x.fma(FloatVector.broadcast(species, LOG2_E), round);
        FloatVector n = shifted.sub(round);
        FloatVector r = n.fma(FloatVector.broadcast(species, -LN2_UPPER), x);
        r = n.fma(FloatVector.broadcast(species, -LN2_LOWER), r);
        FloatVector p = FloatVector.broadcast(species, 0x1.6a2432p-10f);
        p = p.fma(r, FloatVector.broadcast(species, 0x1.1239e2p-7f));
        p = p.fma(r, FloatVector.broadcast(species, 0x1.5558f2p-5f));
        p = p.fma(r, FloatVector.broadcast(species, 0x1.555492p-3f));
        p = p.fma(r, FloatVector.broadcast(species, 0x1.fffffcp-2f));
        p = p.fma(r, one).fma(r, one);
        FloatVector scaled = p.reinterpretAsInts()
            .add(shifted.reinterpretAsInts().lanewise(VectorOperators.LSHL, MANTISSA_BITS)).reinterpretAsFloats();
        return x.mul(Float.POSITIVE_INFINITY)
            .blend(scaled, x.compare(VectorOperators.LE, EXP_HIGHEST))
            .blend(0, x.compare(VectorOperators.LT, EXP_LOWEST));
    }

    /**
     * Mills' ratio of the normal distribution, (1 - Phi(x)) / phi(x), for x from 0 to 13.2, where phi(x) vanishes in
     * single precision; within five units in the last place. Beyond, some number between 0 and 0.1.
     *
     * <p>With q = 1 / (1 + 0.35 x) it is q P(q), P being the polynomial of degree eight with the smallest greatest
     * relative error (2^-25). The substitution follows Shepherd and Laframboise, "Chebyshev approximation of
     * (1+2x) exp(x^2) erfc(x)", Mathematics of Computation 36 (1981). The error function is
     * {@code erf(x) = 1 - sqrt(2/pi) e^(-x^2) millsRatio(sqrt(2) x)}; a tail taken so keeps its relative accuracy.
     */
    static FloatVector millsRatio(FloatVector x) {
        VectorSpecies<Float> species = x.species();
        FloatVector one = FloatVector.broadcast(species, 1);
        FloatVector q = one.div(x.fma(FloatVector.broadcast(species, MILLS_SLOPE), one));
        FloatVector p = FloatVector.broadcast(species, -0x1.2aee56p-4f);
        p = p.fma(q, FloatVector.broadcast(species, 0x1.712788p-2f));
        p = p.fma(q, FloatVector.broadcast(species, -0x1.47c526p-1f));
        p = p.fma(q, FloatVector.broadcast(species, 0x1.979a64p-2f));
        p = p.fma(q, FloatVector.broadcast(species, -0x1.d51a82p-5f));
        p = p.fma(q, FloatVector.broadcast(species, 0x1.0e8548p-2f));
        p = p.fma(q, FloatVector.broadcast(species, 0x1.33a9aap-2f));
        p = p.fma(q, FloatVector.broadcast(species, 0x1.66fc12p-2f));
        return p.fma(q, FloatVector.broadcast(species, 0x1.66610ep-2f)).mul(q);
    }
}
