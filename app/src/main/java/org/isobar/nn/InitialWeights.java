package org.isobar.nn;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.stream.IntStream;

import org.isobar.distributed.Shard;
import org.isobar.random.Philox;

/**
 * Initial values of what a rank holds of a weight. Element {@code g} of the whole weight is a function of seed, name
 * and {@code g}, so every cut starts from the same bits.
 */
final class InitialWeights {
    private InitialWeights() { }

    /** Fills {@code host} with this rank's slice of {@code part}. */
    static void fill(MemorySegment host, Parameter.Part part, long seed) {
        Philox.Key key = Philox.Key.of(seed, "initial " + part.name());
        Runs runs = Runs.of(part);
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

    /**
     * A slice as runs of neighbouring elements, equally long and equally far apart in the whole weight.
     *
     * @param count  runs
     * @param length elements of a run
     * @param first  global index of the first element
     * @param stride from run to run in the whole weight
     */
    private record Runs(long count, long length, long first, long stride) {
        static Runs of(Parameter.Part part) {
            Shard shard = part.shard();
            long[] extents = part.shape().extents();
            long inner = 1; // elements of one entry of the dimension that is cut
            for (int dim = shard.dim() + 1; dim < extents.length; dim++) {
                inner *= extents[dim];
            }
            long cut = extents[shard.dim()];
            long length = shard.length(cut) * inner;
            Runs runs = new Runs(part.local().elements() / length, length, shard.start(cut) * inner, cut * inner);
            return runs.count() == 1 ? runs.split() : runs;
        }

        /** One long run as its rows, for several threads. */
        private Runs split() {
            long pieces = 1;
            while (length / pieces > 4096 && length % (2 * pieces) == 0) {
                pieces *= 2;
            }
            return new Runs(pieces, length / pieces, first, length / pieces);
        }

        long start(long run) {
            return first + run * stride;
        }
    }
}
