package org.isobar.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

import org.isobar.backend.host.GridRanks;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.SequenceSplit;
import org.isobar.random.Philox;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How a sequence is put together and cut, forwards and backwards: uneven parts, one sample and several. */
class SequenceTest {
    private static final String CASES = """
        1, 7, 1
        1, 7, 2
        2, 7, 1
        2, 8, 3
        3, 7, 2
        3, 10, 1
        4, 9, 2
        4, 5, 3
        5, 11, 2
        """;
    private static final int WIDTH = 3;

    /** What one rank holds for a test. */
    private record Rank(Device device, Sequence sequence, DeviceArena.Scope scratch, int batch, int ranks,
        int index) {
        Tensor whole(float... values) {
            return filled(values, batch, sequence.tokens());
        }

        Tensor part(float... values) {
            return filled(values, batch, sequence.here());
        }

        private Tensor filled(float[] values, long... extents) {
            Tensor tensor = scratch.f32(extents[0], extents[1], WIDTH);
            device.upload(tensor, MemorySegment.ofArray(values));
            return tensor;
        }

        float[] read(Tensor tensor) {
            float[] values = new float[Math.toIntExact(tensor.elements())];
            device.download(MemorySegment.ofArray(values), tensor);
            return values;
        }
    }

    /** Work of one rank. */
    private interface Work<T> {
        T run(Rank rank);
    }

    @ParameterizedTest
    @CsvSource(textBlock = CASES)
    void gatherPutsThePartsTogether(int ranks, int tokens, int batch) throws Exception {
        float[] whole = random("whole", batch * tokens * WIDTH);
        for (float[] gathered : run(ranks, tokens, batch, rank -> {
            Tensor out = rank.whole(new float[whole.length]);
            rank.sequence.gather(out, part -> rank.device.ops().memory().copy(part, rank.part(cut(whole, rank))),
                rank.scratch,
                rank.device.ops()).await();
            return rank.read(out);
        })) {
            assertArrayEquals(whole, gathered);
        }
    }

    @ParameterizedTest
    @CsvSource(textBlock = CASES)
    void partAndScatterCutAndGatheredUndoesIt(int ranks, int tokens, int batch) throws Exception {
        float[] whole = random("whole", batch * tokens * WIDTH);
        run(ranks, tokens, batch, rank -> {
            float[] expected = cut(whole, rank);
            assertArrayEquals(expected, rank.read(rank.sequence.part(rank.whole(whole), rank.scratch,
                rank.device.ops())));
            Tensor all = rank.whole(whole);
            Tensor part = ranks == 1 ? all : rank.part(new float[expected.length]);
            rank.sequence.scatter(part, all, rank.device.ops());
            assertArrayEquals(expected, rank.read(part));
            assertArrayEquals(whole, rank.read(rank.sequence.gathered(part, rank.scratch, rank.device.ops())));
            return null;
        });
    }

    /** {@code <gather(x), y> = <x, reduceScatter(y)>}, where every rank has an own y. */
    @ParameterizedTest
    @CsvSource(textBlock = CASES)
    void reduceScatterIsTheAdjointOfGather(int ranks, int tokens, int batch) throws Exception {
        float[] x = random("x", batch * tokens * WIDTH);
        List<double[]> products = run(ranks, tokens, batch, rank -> {
            float[] y = random("y of " + rank.index, x.length);
            Tensor out = rank.whole(new float[x.length]);
            rank.sequence.gather(out, part -> rank.device.ops().memory().copy(part, rank.part(cut(x, rank))),
                rank.scratch,
                rank.device.ops()).await();
            float[] dx = rank.read(rank.sequence.reduceScatter(rank.whole(y), rank.scratch, rank.device.ops()).await());
            return new double[] {dot(rank.read(out), y), dot(cut(x, rank), dx)};
        });
        assertEquals(sum(products, 0), sum(products, 1), 1e-5 * x.length);
    }

    /** {@code <scatter(x), y> = <x, gathered(y)>} for an x that all ranks share: each has its part of y. */
    @ParameterizedTest
    @CsvSource(textBlock = CASES)
    void gatheredIsTheAdjointOfScatter(int ranks, int tokens, int batch) throws Exception {
        float[] x = random("x", batch * tokens * WIDTH);
        float[] y = random("y", x.length);
        List<double[]> products = run(ranks, tokens, batch, rank -> {
            Tensor part = rank.part(cut(y, rank));
            float[] dx = rank.read(rank.sequence.gathered(part, rank.scratch, rank.device.ops()));
            Tensor all = rank.whole(x);
            float[] cutX = rank.read(rank.sequence.part(all, rank.scratch, rank.device.ops()));
            return new double[] {dot(cutX, cut(y, rank)), dot(x, dx)};
        });
        for (double[] product : products) {
            assertEquals(sum(products, 0), product[1], 1e-5 * x.length);
        }
    }

    private static <T> List<T> run(int ranks, int tokens, int batch, Work<T> work) throws Exception {
        return GridRanks.run(ProcessGrid.of("tp-cp-dp", Map.of(Axis.CP, ranks)), (device, communicators) -> {
            try (DeviceArena arena = device.arena("test", 1 << 18); DeviceArena.Scope scratch = arena.scope()) {
                return work.run(new Rank(device, sequence(communicators, tokens), scratch, batch,
                    ranks, communicators.coordinate(Axis.CP)));
            }
        });
    }

    private static Sequence sequence(Communicators communicators, int tokens) {
        return new Sequence(communicators.along(Axis.CP), tokens);
    }

    /** A rank's tokens of every sample, picked by hand. */
    private static float[] cut(float[] whole, Rank rank) {
        int tokens = whole.length / WIDTH / rank.batch;
        long[] sizes = SequenceSplit.sizes(tokens, rank.ranks);
        int first = (int) Arrays.stream(sizes).limit(rank.index).sum();
        int here = (int) sizes[rank.index];
        float[] part = new float[rank.batch * here * WIDTH];
        for (int sample = 0; sample < rank.batch; sample++) {
            System.arraycopy(whole, (sample * tokens + first) * WIDTH, part, sample * here * WIDTH, here * WIDTH);
        }
        return part;
    }

    private static float[] random(String purpose, int count) {
        return Philox.normals(Philox.Key.of(5, purpose), count, 1);
    }

    private static double dot(float[] a, float[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += (double) a[i] * b[i];
        }
        assertEquals(a.length, b.length);
        return sum;
    }

    private static double sum(List<double[]> products, int index) {
        return products.stream().mapToDouble(product -> product[index]).sum();
    }
}
