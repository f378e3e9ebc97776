package org.isobar.backend.cpu.vector;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** Tails of the normal distribution of whole vectors. Each step is straight-line code without branches or tables. */
public final class VectorMath {
    public static final float LOG2_E = 0x1.715476p0f;
    /** The upper nine bits of ln 2, so that products with small integers are exact, and the remainder. */
    public static final float LN2_UPPER = 0.693359375f;
    public static final float LN2_LOWER = -2.12194440e-4f;
    /** 1.5 * 2^23. Adding it to a small number leaves the nearest integer in the lowest bits of the sum. */
    private static final float ROUND = 0x1.8p23f;

    /** Coefficients of s in e^t = 1 + t + t^2 s(t), from that of t^4 to the constant. */
    public static final float EXP_6 = 0x1.6a2432p-10f;
    public static final float EXP_5 = 0x1.1239e2p-7f;
    public static final float EXP_4 = 0x1.5558f2p-5f;
    public static final float EXP_3 = 0x1.555492p-3f;
    public static final float EXP_2 = 0x1.fffffcp-2f;

    /** 4 phi(0), where phi is the density of the standard normal distribution. */
    public static final float FOUR_DENSITIES_AT_0 = 0x1.988454p0f;

    public static final int SIGN = 0x80000000;
    /** Argument at which -x^2 / (2 ln 2) rounds to -125, where {@link #bellPower} is zero. */
    public static final float TAIL_ENDS = -13.164f;
    /** ROUND plus the biased exponent of 1/4. */
    public static final float ROUND_TO_POWER = ROUND + 125;
    /** Constant of the substitution q = 2 / (71/32 + |x|), and twice the q about which its polynomial is expanded. */
    public static final float TAIL_SHIFT = 71f / 32;
    public static final float TAIL_CENTRE = 107f / 128;

    /** Coefficients of the polynomial of {@link #normalTail}. */
    public static final float TAIL_10 = -0x1.1648f2p-11f;
    public static final float TAIL_9 = 0x1.5c3226p-10f;
    public static final float TAIL_8 = 0x1.71336ap-11f;
    public static final float TAIL_7 = -0x1.98e6e8p-8f;
    public static final float TAIL_6 = 0x1.33bb9cp-8f;
    public static final float TAIL_5 = 0x1.33d356p-6f;
    public static final float TAIL_4 = -0x1.1fe07ap-5f;
    public static final float TAIL_3 = -0x1.27f9ccp-4f;
    public static final float TAIL_2 = 0x1.91fff0p-3f;
    public static final float TAIL_1 = 0x1.a2f516p-1f;
    public static final float TAIL_0 = 0x1.4bf518p-2f;

    private VectorMath() { }

    /**
     * Returns -|x|, clamped from below at the argument where {@link #bellPower} is zero; NaN for NaN. This is the first
     * step towards a tail of the normal distribution Phi, {@code 1 - Phi(|x|) = bellPower * normalTail}, which is
     * within two units in the last place wherever it is a normal number (1.91 at worst). The error function follows
     * from {@code erf(x / sqrt(2)) = 2 Phi(x) - 1}.
     *
     * <p>1 - Phi(|x|) = e^(-x^2 / 2) R(|x|), where R, Mills' ratio over sqrt(2 pi), decreases slowly. The exponential
     * is 2^n (1 + w); R is q (1 + P(q)) / 4 with q = 2 / (71/32 + |x|). The substitution follows Shepherd and
     * Laframboise, "Chebyshev approximation of (1+2x) exp(x^2) erfc(x)", Mathematics of Computation 36 (1981). This
     * needs few roundings: the result is q + q (w + P + w P), rounded once, times a power of two. The error of q from
     * its two roundings is known; w and P compensate for it.
     *
     * <p>The steps are separate methods because some callers use a step's result more than once.
     */
    public static FloatVector tailArgument(FloatVector x) {
        FloatVector a = x.reinterpretAsInts().or(SIGN).reinterpretAsFloats();
        return a.blend(TAIL_ENDS, a.compare(VectorOperators.LT, TAIL_ENDS));
    }

    /** Returns the integer n nearest to -a^2 / (2 ln 2), in the lowest bits, for a {@link #tailArgument} a. */
    public static FloatVector bellExponent(FloatVector a) {
        VectorSpecies<Float> species = a.species();
        return a.mul(a).fma(FloatVector.broadcast(species, LOG2_E / -2),
            FloatVector.broadcast(species, ROUND_TO_POWER));
    }

    /** Returns 2^n / 4 for a {@link #bellExponent}; zero for n = -125. */
    public static FloatVector bellPower(FloatVector exponent) {
        return exponent.reinterpretAsInts().lanewise(VectorOperators.LSHL, PowerPolynomial.MANTISSA_BITS)
            .reinterpretAsFloats();
    }

    /**
     * Returns w in e^((c - a^2) / 2) = 2^n (1 + w), for a {@link #tailArgument} a, its {@link #bellExponent} and a
     * small c: w = e^t - 1, where t = -r / 2, r = a^2 + 2 n ln 2 - c, and |t| is at most about ln 2 / 2. e^t is
     * 1 + t + t^2 s(t), where s is the minimax polynomial of degree four (maximum relative error 2^-28 of e^t). A fused
     * multiply-add computes the first two terms of r without rounding the square.
     */
    public static FloatVector bellExcess(FloatVector a, FloatVector exponent, FloatVector c) {
        VectorSpecies<Float> species = a.species();
        FloatVector n = exponent.sub(FloatVector.broadcast(species, ROUND_TO_POWER));
        FloatVector upper = n.mul(FloatVector.broadcast(species, 2 * LN2_UPPER));
        FloatVector r = a.fma(a, upper).sub(n.fma(FloatVector.broadcast(species, -2 * LN2_LOWER), c));
        FloatVector s = FloatVector.broadcast(species, EXP_6 / 64);
        s = s.fma(r, FloatVector.broadcast(species, EXP_5 / -32));
        s = s.fma(r, FloatVector.broadcast(species, EXP_4 / 16));
        s = s.fma(r, FloatVector.broadcast(species, EXP_3 / -8));
        s = s.fma(r, FloatVector.broadcast(species, EXP_2 / 4));
        return s.mul(r).fma(r, r.mul(FloatVector.broadcast(species, -0.5f)));
    }

    /** Returns q = 2 / (71/32 + |a|) for a {@link #tailArgument} a. */
    public static FloatVector tailQuotient(FloatVector a) {
        VectorSpecies<Float> species = a.species();
        return FloatVector.broadcast(species, -2).div(a.sub(FloatVector.broadcast(species, TAIL_SHIFT)));
    }

    /**
     * Returns the small number c = 2 - q (71/32 + |a|). The exact value of a {@link #tailQuotient} q is greater by q c
     * / 2.
     */
    public static FloatVector tailRemainder(FloatVector a, FloatVector q) {
        VectorSpecies<Float> species = a.species();
        FloatVector shift = FloatVector.broadcast(species, TAIL_SHIFT);
        FloatVector divisor = a.sub(shift);
        FloatVector lost = a.sub(divisor.add(shift));
        return q.fma(lost, q.fma(divisor, FloatVector.broadcast(species, 2)));
    }

    /**
     * Returns (1 - Phi(|a|)) / {@link #bellPower}, given the {@link #tailQuotient} q, its {@link #tailRemainder} c, and
     * the {@link #bellExcess} with that c. The polynomial is the minimax polynomial of degree ten (maximum relative
     * error 2^-27 of R).
     */
    public static FloatVector normalTail(FloatVector q, FloatVector c, FloatVector excess) {
        VectorSpecies<Float> species = q.species();
        FloatVector u = q.fma(FloatVector.broadcast(species, 2), FloatVector.broadcast(species, -TAIL_CENTRE));
        u = q.fma(c, u);
        FloatVector p = FloatVector.broadcast(species, TAIL_10);
        p = p.fma(u, FloatVector.broadcast(species, TAIL_9));
        p = p.fma(u, FloatVector.broadcast(species, TAIL_8));
        p = p.fma(u, FloatVector.broadcast(species, TAIL_7));
        p = p.fma(u, FloatVector.broadcast(species, TAIL_6));
        p = p.fma(u, FloatVector.broadcast(species, TAIL_5));
        p = p.fma(u, FloatVector.broadcast(species, TAIL_4));
        p = p.fma(u, FloatVector.broadcast(species, TAIL_3));
        p = p.fma(u, FloatVector.broadcast(species, TAIL_2));
        p = p.fma(u, FloatVector.broadcast(species, TAIL_1));
        p = p.fma(u, FloatVector.broadcast(species, TAIL_0));
        FloatVector product = excess.fma(p.add(FloatVector.broadcast(species, 1)), p);
        return q.fma(product, q);
    }
}
