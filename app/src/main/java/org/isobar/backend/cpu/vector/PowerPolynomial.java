package org.isobar.backend.cpu.vector;

/**
 * Constants of powers of two for a softmax: x = n + r with |r| at most 1/2; 2^r = 1 + r s(r), where s is the minimax
 * polynomial of degree four (maximum relative error 2^-23 of 2^r).
 */
public final class PowerPolynomial {
    /**
     * 1.5 * 2^23 + 127. Adding it to a small number x leaves round(x) + 127, the biased exponent of a power of two, in
     * the lowest bits of the sum.
     */
    public static final float ROUND_BITS = 0x1.8p23f + 127;
    /** The bits of {@code x + ROUND_BITS} for n = 0. For any other n, the bits are greater by n. */
    public static final int ZERO = Float.floatToIntBits(ROUND_BITS);
    public static final int MANTISSA_BITS = 23;
    /**
     * Selects the bits of {@code x + ROUND_BITS} that are those of {@link #WITHIN} for x from -127.5 to 128.5, and for
     * no other x and no NaN.
     */
    public static final int BEYOND = ~0xFF;
    public static final int WITHIN = ZERO & BEYOND;
    /** Lower bound of the exponents. Its power of two is negligible but still a normal number. */
    public static final float LEAST = -125;

    /** Fast loops give up at a sum of weights from this on. It, and products with it, are far from overflow. */
    public static final float GREATEST_SUM = 0x1p40f;

    public static final float P0 = 1;
    public static final float P1 = 0x1.62e42ap-1f;
    public static final float P2 = 0x1.ebf9bcp-3f;
    public static final float P3 = 0x1.c6b752p-5f;
    public static final float P4 = 0x1.3cea88p-7f;
    public static final float P5 = 0x1.5bba14p-10f;

    /** Coefficients of degree four for weights that are rounded to BF16, with p(0) = 1. */
    public static final float H1 = 0x1.62e12cp-1f;
    public static final float H2 = 0x1.ec0378p-3f;
    public static final float H3 = 0x1.c9fc50p-5f;
    public static final float H4 = 0x1.3a02dcp-7f;

    private PowerPolynomial() { }
}
