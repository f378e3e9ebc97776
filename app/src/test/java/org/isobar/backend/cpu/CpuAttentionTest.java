package org.isobar.backend.cpu;

import static org.isobar.backend.cpu.CpuFixture.EPSILON;
import static org.isobar.backend.cpu.CpuFixture.values;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.util.List;

import org.isobar.device.AttentionShape;
import org.isobar.device.Dropout;
import org.isobar.device.Span;
import org.isobar.random.Philox;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Attention against whole matrices in double precision. */
final class CpuAttentionTest {
    /** Results of both directions. */
    private record Results(float[] out, float[] lse, float[] dq, float[] dkv) { }

    @ParameterizedTest
    @CsvSource({"1, 1, 1, 1, 1, 0", "2, 5, 3, 2, 12, 0", "1, 64, 256, 1, 16, 0", "2, 70, 300, 3, 20, 0",
        "1, 130, 33, 2, 24, 0.25", "2, 67, 531, 2, 48, 0.1"})
    void bothDirectionsAreThoseOfDoublePrecision(int batch, int queries, int keys, int heads, int headDim,
        double probability) {
        AttentionShape shape = new AttentionShape(batch, queries, keys, heads, headDim);
        Dropout dropout = dropout(shape, probability);
        Results actual = results(2, shape, dropout, 1);
        AttentionReference expected = reference(shape, dropout, 1);
        assertClose(shape, "out", expected.out(), actual.out());
        assertClose(shape, "lse", expected.lse(), actual.lse());
        assertClose(shape, "dq", expected.dq(), actual.dq());
        assertClose(shape, "dkv", expected.dkv(), actual.dkv());
    }

    @Test
    void scoresMayBeFarBeyondTheRangeOfTheExponential() {
        AttentionShape shape = new AttentionShape(1, 40, 700, 1, 16);
        Results actual = results(2, shape, Dropout.NONE, 60);
        AttentionReference expected = reference(shape, Dropout.NONE, 60);
        double spread = 60; // scores, and with them the errors of their exponentials, are that much greater
        AttentionReference.assertClose("out", expected.out(), actual.out(), spread * tolerance(shape));
        AttentionReference.assertClose("lse", expected.lse(), actual.lse(), tolerance(shape));
    }

    @Test
    void bitsDoNotDependOnTheNumberOfThreads() {
        AttentionShape shape = new AttentionShape(1, 200, 1100, 1, 24); // one head: all threads add to the same dq
        Dropout dropout = dropout(shape, 0.1);
        Results single = results(1, shape, dropout, 1);
        for (int threads = 2; threads <= 3; threads++) {
            Results several = results(threads, shape, dropout, 1);
            assertArrayEquals(single.out(), several.out());
            assertArrayEquals(single.lse(), several.lse());
            assertArrayEquals(single.dq(), several.dq());
            assertArrayEquals(single.dkv(), several.dkv());
        }
    }

    /** The local heads and queries lie scattered in a larger tensor, as they would on one of several ranks. */
    private static Dropout dropout(AttentionShape shape, double probability) {
        return new Dropout(probability, new Philox.Key(7, 3), List.of(Span.whole(shape.batch()),
            new Span(1, 1, shape.heads() + 2), new Span(5, 2, 2 * shape.queries() + 9),
            new Span(3, 1, shape.keys() + 6)));
    }

    private static Results results(int threads, AttentionShape shape, Dropout dropout, float spread) {
        try (CpuFixture cpu = new CpuFixture(threads)) {
            long[] queries = {shape.batch(), shape.queries(), shape.heads(), shape.headDim()};
            long[] keys = {shape.batch(), shape.keys(), 2, shape.heads(), shape.headDim()};
            Tensor q = cpu.of(scaled(values(cpu.random(1, queries)), spread), queries);
            Tensor kv = cpu.random(2, keys);
            Tensor dOut = cpu.random(3, queries);
            Tensor out = cpu.poisoned(queries);
            Tensor lse = cpu.poisoned(shape.batch(), shape.heads(), shape.queries());
            Tensor dq = cpu.poisoned(queries);
            Tensor dkv = cpu.poisoned(keys);
            cpu.ops().attention(out, lse, q, kv, shape, dropout);
            cpu.ops().attentionBackward(dq, dkv, dOut, q, kv, out, lse, shape, dropout);
            return new Results(values(out), values(lse), values(dq), values(dkv));
        }
    }

    private static AttentionReference reference(AttentionShape shape, Dropout dropout, float spread) {
        try (CpuFixture cpu = new CpuFixture(1)) {
            long channels = shape.heads() * shape.headDim();
            float[] q = values(cpu.random(1, shape.batch(), shape.queries(), channels));
            float[] kv = values(cpu.random(2, shape.batch(), shape.keys(), 2 * channels));
            float[] dOut = values(cpu.random(3, shape.batch(), shape.queries(), channels));
            return new AttentionReference(shape, dropout, scaled(q, spread), kv, dOut);
        }
    }

    private static float[] scaled(float[] values, float factor) {
        float[] scaled = values.clone();
        for (int i = 0; i < scaled.length; i++) {
            scaled[i] *= factor;
        }
        return scaled;
    }

    private static void assertClose(AttentionShape shape, String name, double[] expected, float[] actual) {
        AttentionReference.assertClose(name, expected, actual, tolerance(shape));
    }

    /** The longest chain of roundings: the terms of a score and of the sums over keys and over queries, each once. */
    private static double tolerance(AttentionShape shape) {
        return EPSILON * (shape.headDim() + Math.max(shape.queries(), shape.keys()) + 8);
    }
}
