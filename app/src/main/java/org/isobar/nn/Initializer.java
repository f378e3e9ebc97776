package org.isobar.nn;

import java.util.Arrays;

import org.isobar.random.Philox;

/** The initial values of a weight: a pure function of the random key of its name and the index in the full weight. */
public sealed interface Initializer {

    /** Every element is {@code value}. */
    record Constant(double value) implements Initializer { }

    /** Uniform in (-bound, bound): PyTorch's default for convolutions with bound = 1 / sqrt(fan in). */
    record Uniform(double bound) implements Initializer { }

    /**
     * Normal with mean 0. (The tutorial truncates at +-2 absolute, a hundred standard deviations, which has no effect
     * in practice.)
     */
    record Normal(double std) implements Initializer { }

    /** Computes elements {@code 4 block} to {@code 4 block + 3}. {@code words} is scratch space of four words. */
    default void fill(Philox.Key key, long block, int[] words, double[] four) {
        switch (this) {
            case Constant constant -> Arrays.fill(four, constant.value());
            case Uniform uniform -> {
                Philox.block(key, block, words);
                for (int i = 0; i < 4; i++) {
                    four[i] = uniform.bound() * (2 * Philox.unit(words[i]) - 1);
                }
            }
            case Normal normal -> {
                Philox.normals(key, block, words, four);
                for (int i = 0; i < 4; i++) {
                    four[i] *= normal.std();
                }
            }
        }
    }
}
