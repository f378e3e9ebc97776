package org.isobar.random;

import java.nio.charset.StandardCharsets;

/**
 * Philox 4x32-10: 128 random bits as a pure function of a 64-bit key and a 128-bit counter (Salmon, Moraes, Dror, Shaw,
 * "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
 *
 * <p>Element {@code i} of a random tensor is word {@code i mod 4} of the block with counter {@code i / 4}. Four
 * neighbouring elements share one evaluation, and any element can be computed alone.
 */
public final class Philox {
    /** Number of rounds. An implementation on other hardware needs this and the following four constants. */
    public static final int ROUNDS = 10;
    /** Multiplier of counter word 0. */
    public static final long MULTIPLIER_0 = 0xD2511F53L;
    /** Multiplier of counter word 2. */
    public static final long MULTIPLIER_1 = 0xCD9E8D57L;
    /** Added to key word 0 after each round. */
    public static final int WEYL_0 = 0x9E3779B9;
    /** Added to key word 1 after each round. */
    public static final int WEYL_1 = 0xBB67AE85;

    private static final double TWO_POW_MINUS_32 = 0x1p-32;

    private Philox() { }

    /**
     * Selects an independent random stream.
     *
     * @param bits   key of the generator, mixed from the run's seed and the purpose
     * @param stream upper half of the counter, for example the training step
     */
    public record Key(long bits, long stream) {
        /** The key of a purpose, for example "blocks.0.mlp.drop1", in a run with the given seed. */
        public static Key of(long seed, String purpose) {
            long hash = 0xCBF29CE484222325L; // FNV-1a, 64 bits
            for (byte b : purpose.getBytes(StandardCharsets.UTF_8)) {
                hash = (hash ^ (b & 0xFF)) * 0x100000001B3L;
            }
            return new Key(mix(mix(seed) ^ hash), 0);
        }

        /** The key of the same purpose at another step. */
        public Key at(long step) {
            return new Key(bits, step);
        }
    }

    /** Finalizer of SplitMix64: a bijection of 64 bits in which every input bit affects all output bits. */
    static long mix(long z) {
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    /** Writes the four 32-bit words of counter block {@code block} into {@code words}. */
    public static void block(Key key, long block, int[] words) {
        int c0 = (int) block;
        int c1 = (int) (block >>> 32);
        int c2 = (int) key.stream();
        int c3 = (int) (key.stream() >>> 32);
        int k0 = (int) key.bits();
        int k1 = (int) (key.bits() >>> 32);
        for (int round = 0; round < ROUNDS; round++) {
            long product0 = MULTIPLIER_0 * (c0 & 0xFFFFFFFFL);
            long product1 = MULTIPLIER_1 * (c2 & 0xFFFFFFFFL);
            int next0 = (int) (product1 >>> 32) ^ c1 ^ k0;
            int next2 = (int) (product0 >>> 32) ^ c3 ^ k1;
            c1 = (int) product1;
            c3 = (int) product0;
            c0 = next0;
            c2 = next2;
            k0 += WEYL_0;
            k1 += WEYL_1;
        }
        words[0] = c0;
        words[1] = c1;
        words[2] = c2;
        words[3] = c3;
    }

    /** The 32 random bits of element {@code index}. */
    public static int bits(Key key, long index) {
        int[] words = new int[4];
        block(key, index >>> 2, words);
        return words[(int) (index & 3)];
    }

    /** A uniform number in the open interval (0, 1) for element {@code index}. */
    public static double uniform(Key key, long index) {
        return unit(bits(key, index));
    }

    /** Normal numbers of mean 0 for elements {@code 0} to {@code count - 1}, rounded to floats. */
    public static float[] normals(Key key, int count, double std) {
        float[] numbers = new float[count];
        int[] words = new int[4];
        double[] four = new double[4];
        for (int i = 0; i < count; i++) {
            if (i % 4 == 0) {
                normals(key, i / 4, words, four);
            }
            numbers[i] = (float) (std * four[i % 4]);
        }
        return numbers;
    }

    /**
     * The standard normal numbers of elements {@code 4 block} to {@code 4 block + 3}, by Box and Muller from the
     * words of one counter block taken in pairs.
     *
     * @param words scratch memory of four words
     * @param four  receives the four numbers
     */
    public static void normals(Key key, long block, int[] words, double[] four) {
        block(key, block, words);
        for (int pair = 0; pair < 4; pair += 2) {
            double radius = Math.sqrt(-2 * Math.log(unit(words[pair])));
            double angle = 2 * Math.PI * unit(words[pair + 1]);
            four[pair] = radius * Math.cos(angle);
            four[pair + 1] = radius * Math.sin(angle);
        }
    }

    /** A random permutation of 0 .. n-1 (Fisher and Yates), a pure function of the key. */
    public static int[] permutation(Key key, int n) {
        int[] order = new int[n];
        for (int i = 0; i < n; i++) {
            int j = (int) ((bits(key, i) & 0xFFFFFFFFL) * (i + 1L) >>> 32);
            order[i] = order[j];
            order[j] = i;
        }
        return order;
    }

    /** Converts 32 random bits to a uniform number in (0, 1). */
    public static double unit(int bits) {
        return ((bits & 0xFFFFFFFFL) + 0.5) * TWO_POW_MINUS_32;
    }
}
