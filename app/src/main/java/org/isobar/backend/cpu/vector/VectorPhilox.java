package org.isobar.backend.cpu.vector;

import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShuffle;
import jdk.incubator.vector.VectorSpecies;

import org.isobar.random.Philox;

/** Vectorized {@link Philox#block}, with one counter in each 64-bit lane. */
final class VectorPhilox {
    private static final VectorSpecies<Long> I64 = LongVector.SPECIES_PREFERRED;
    private static final VectorShuffle<Long> FIRST_PAIRS = VectorShuffle.makeZip(I64, 0);
    private static final VectorShuffle<Long> LAST_PAIRS = VectorShuffle.makeZip(I64, 1);
    private static final long LOW = 0xFFFFFFFFL;

    /** Words generated per step; a multiple of four. */
    static final int STEP = 4 * I64.length();

    private VectorPhilox() { }

    /**
     * Fills {@code words} with the output of consecutive counter blocks: {@code count} words, rounded up to whole
     * steps.
     */
    static void fill(Philox.Key key, long firstBlock, int[] words, int count) {
        for (int at = 0; at < count; at += STEP) {
            step(key, firstBlock + at / 4, words, at);
        }
    }

    private static void step(Philox.Key key, long block, int[] words, int at) {
        LongVector counter = LongVector.broadcast(I64, block).addIndex(1);
        LongVector c0 = counter.and(LOW);
        LongVector c1 = counter.lanewise(VectorOperators.LSHR, 32);
        LongVector c2 = LongVector.broadcast(I64, key.stream() & LOW);
        LongVector c3 = LongVector.broadcast(I64, key.stream() >>> 32);
        int k0 = (int) key.bits();
        int k1 = (int) (key.bits() >>> 32);
        for (int round = 0; round < Philox.ROUNDS; round++) {
            LongVector product0 = c0.mul(Philox.MULTIPLIER_0);
            LongVector product1 = c2.mul(Philox.MULTIPLIER_1);
            c0 = product1.lanewise(VectorOperators.LSHR, 32).lanewise(VectorOperators.XOR, c1)
                .lanewise(VectorOperators.XOR, k0 & LOW);
            c2 = product0.lanewise(VectorOperators.LSHR, 32).lanewise(VectorOperators.XOR, c3)
                .lanewise(VectorOperators.XOR, k1 & LOW);
            c1 = product1.and(LOW);
            c3 = product0.and(LOW);
            k0 += Philox.WEYL_0;
            k1 += Philox.WEYL_1;
        }
        LongVector words01 = c0.or(c1.lanewise(VectorOperators.LSHL, 32));
        LongVector words23 = c2.or(c3.lanewise(VectorOperators.LSHL, 32));
        IntVector first = words01.rearrange(FIRST_PAIRS, words23).reinterpretAsInts();
        IntVector last = words01.rearrange(LAST_PAIRS, words23).reinterpretAsInts();
        first.intoArray(words, at);
        last.intoArray(words, at + first.length());
    }
}
