package org.isobar.nn;

import java.util.Arrays;

import org.isobar.random.Philox;

/** How a weight starts: a pure function of its name's random key and the element's index in the whole weight. */
public sealed interface Initializer {

    /** Every element is {@code value}. */
    record Constant(double value) implements Initializer { }

    /** Uniform in (-bound, bound): PyTorch's default for convolutions with bound = 1 / sqrt(fan in). */
    record Uniform(double bound) implements Initializer { }

    /**
     * Normal with mean 0. (The tutorial truncates at +-2 absolute, a hundred standard deviations: in effect not at
     * all.)
     */
    record Normal(double std) implements Initializer { }

    /** Values of elements {@code 4 block} to {@code 4 block + 3}; {@code words} is scratch of four words. */
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
