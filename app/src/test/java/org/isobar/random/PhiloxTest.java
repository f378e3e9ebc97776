package org.isobar.random;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;

import org.junit.jupiter.api.Test;

/** Checks known answers of Random123's philox4x32-10, and the distributions derived from it. */
class PhiloxTest {
    private static final int SAMPLES = 200_000;

    @Test
    void knownAnswers() {
        assertBlock(0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
        assertBlock(-1, -1, -1, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
        assertBlock(0x299f31d0a4093822L, 0x0370734413198a2eL, 0x85a308d3243f6a88L,
            0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1);
    }

    private static void assertBlock(long key, long stream, long block, int... expected) {
        int[] words = new int[4];
        Philox.block(new Philox.Key(key, stream), block, words);
        assertArrayEquals(expected, words);
    }

    @Test
    void fourNeighboursShareABlock() {
        Philox.Key key = Philox.Key.of(5, "weights").at(2);
        int[] words = new int[4];
        for (long block : new long[] {0, 1, 77, 1L << 31, 1L << 40}) {
            Philox.block(key, block, words);
            for (int word = 0; word < 4; word++) {
                assertEquals(words[word], Philox.bits(key, 4 * block + word));
            }
        }
    }

    @Test
    void uniformNumbersAreUniform() {
        Philox.Key key = Philox.Key.of(1, "uniform");
        int[] histogram = new int[16];
        double sum = 0;
        for (int i = 0; i < SAMPLES; i++) {
            double u = Philox.uniform(key, i);
            assertTrue(u > 0 && u < 1);
            sum += u;
            histogram[(int) (u * histogram.length)]++;
        }
        assertEquals(0.5, sum / SAMPLES, 5 * Math.sqrt(1 / 12.0 / SAMPLES));
        double each = (double) SAMPLES / histogram.length;
        double chiSquare = Arrays.stream(histogram).mapToDouble(count -> (count - each) * (count - each) / each).sum();
        assertTrue(chiSquare < 44.3, "chi-square of 15 degrees of freedom, 1 in 10,000: " + chiSquare);
    }

    @Test
    void normalNumbersHaveMeanZeroAndSpreadOne() {
        Philox.Key key = Philox.Key.of(1, "normal");
        double sum = 0;
        double squares = 0;
        double fourth = 0;
        for (double z : Philox.normals(key, SAMPLES, 1)) {
            sum += z;
            squares += z * z;
            fourth += z * z * z * z;
        }
        assertEquals(0, sum / SAMPLES, 5 / Math.sqrt(SAMPLES));
        assertEquals(1, squares / SAMPLES, 5 * Math.sqrt(2.0 / SAMPLES));
        assertEquals(3, fourth / SAMPLES, 5 * Math.sqrt(96.0 / SAMPLES));
    }

    @Test
    void purposesSeedsAndStepsAreIndependent() {
        long[] bits = {
            Philox.bits(Philox.Key.of(1, "a"), 0), Philox.bits(Philox.Key.of(1, "b"), 0),
            Philox.bits(Philox.Key.of(2, "a"), 0), Philox.bits(Philox.Key.of(1, "a").at(1), 0),
            Philox.bits(Philox.Key.of(1, "a"), 1)};
        assertEquals(bits.length, Arrays.stream(bits).distinct().count());
        assertEquals(Philox.Key.of(1, "a"), Philox.Key.of(1, "a").at(3).at(0));
    }

    @Test
    void permutationHoldsEveryIndexOnce() {
        for (int n : new int[] {0, 1, 2, 17, 1000}) {
            int[] order = Philox.permutation(Philox.Key.of(3, "order"), n);
            int[] sorted = order.clone();
            Arrays.sort(sorted);
            for (int i = 0; i < n; i++) {
                assertEquals(i, sorted[i]);
            }
        }
    }

    @Test
    void permutationDependsOnTheKeyAlone() {
        Philox.Key key = Philox.Key.of(3, "order");
        assertArrayEquals(Philox.permutation(key, 100), Philox.permutation(key, 100));
        assertNotEquals(Arrays.toString(Philox.permutation(key, 100)),
            Arrays.toString(Philox.permutation(key.at(1), 100)));
    }

    @Test
    void everyPermutationIsEquallyLikely() {
        int trials = 24_000;
        int[] firsts = new int[4];
        int[] lasts = new int[4];
        for (int trial = 0; trial < trials; trial++) {
            int[] order = Philox.permutation(Philox.Key.of(trial, "order"), 4);
            firsts[order[0]]++;
            lasts[order[3]]++;
        }
        for (int i = 0; i < 4; i++) {
            assertEquals(trials / 4.0, firsts[i], 5 * Math.sqrt(trials * 3 / 16.0));
            assertEquals(trials / 4.0, lasts[i], 5 * Math.sqrt(trials * 3 / 16.0));
        }
    }
}
