package org.isobar.nn;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.stream.IntStream;

import org.isobar.distributed.Shard;
import org.isobar.random.Philox;

/**
 * Computes the initial values of a rank's shard of a weight. Element {@code g} of the unsharded weight is a function of
 * seed, name and {@code g}, so every sharding starts from the same bits.
 */
final class InitialWeights {
    private static final long PIECE = 4096; // elements

    private InitialWeights() { }

    /** Fills {@code host} with the initial values of this rank's shard of {@code part}. */
    static void fill(MemorySegment host, Parameter.Part part, long seed) {
        Philox.Key key = Philox.Key.of(seed, "initial " + part.name());
        Shard.Runs runs = split(part.shard().runs(part.shape()));
        IntStream.range(0, Math.toIntExact(runs.count())).parallel().forEach(
            run -> fill(host, part.initializer(), key, run * runs.length(), runs.start(run), runs.length()));
    }

    private static void fill(MemorySegment host, Initializer initializer, Philox.Key key, long local, long global,
        long length) {
        int[] words = new int[4];
        double[] four = new double[4];
        for (long g = global; g < global + length;) {
            initializer.fill(key, g >>> 2, words, four);
            long next = Math.min((g | 3) + 1, global + length);
            for (; g < next; g++) {
                host.setAtIndex(ValueLayout.JAVA_FLOAT, local + g - global, (float) four[(int) (g & 3)]);
            }
        }
    }

    /** Splits a single long run into pieces that threads can fill in parallel. */
    private static Shard.Runs split(Shard.Runs runs) {
        long pieces = 1;
        while (runs.count() == 1 && runs.length() / pieces > PIECE && runs.length() % (2 * pieces) == 0) {
            pieces *= 2;
        }
        long length = runs.length() / pieces;
        return pieces == 1 ? runs : new Shard.Runs(pieces, length, runs.first(), length);
    }
}
