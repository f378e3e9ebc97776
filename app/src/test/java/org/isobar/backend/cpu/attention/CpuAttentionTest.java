package org.isobar.backend.cpu.attention;

import static org.isobar.backend.cpu.CpuFixture.EPSILON;
import static org.isobar.backend.cpu.CpuFixture.values;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;

import org.isobar.backend.cpu.CpuFixture;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.IndexSpan;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Attention against whole matrices in double precision. */
final class CpuAttentionTest {
    /** Results of both directions. */
    private record Results(float[] out, float[] lse, float[] dq, float[] dkv) { }

    @ParameterizedTest
    @CsvSource({"1, 1, 1, 1, 1, 0", "2, 5, 3, 2, 12, 0", "1, 64, 256, 1, 16, 0", "2, 70, 300, 3, 20, 0",
        "1, 130, 33, 2, 24, 0.25", "2, 67, 531, 2, 48, 0.1", "1, 300, 600, 1, 5, 0.1",
        "4, 128, 128, 6, 32, 0", "2, 64, 96, 3, 20, 0", "1, 256, 32, 2, 48, 0", "2, 32, 64, 1, 5, 0"})
    void bothDirectionsAreThoseOfDoublePrecision(int batch, int queries, int keys, int heads, int headDim,
        double probability) {
        AttentionShape shape = new AttentionShape(batch, queries, keys, heads, headDim);
        Dropout dropout = dropout(shape, probability);
        for (DType dtype : CpuFixture.TYPES) {
            Results actual = results(2, dtype, shape, dropout, 1);
            AttentionReference expected = reference(dtype, shape, dropout, 1);
            double tolerance = tolerance(shape) + rounded(dtype);
            AttentionReference.assertClose("out", expected.out(), actual.out(), tolerance);
            AttentionReference.assertClose("lse", expected.lse(), actual.lse(), tolerance(shape));
            AttentionReference.assertClose("dq", expected.dq(), actual.dq(), tolerance);
            AttentionReference.assertClose("dkv", expected.dkv(), actual.dkv(), tolerance);
        }
    }

    @ParameterizedTest
    @CsvSource({"40, 700", "32, 256"})
    void scoresMayBeFarBeyondTheRangeOfTheExponential(int queries, int keys) {
        AttentionShape shape = new AttentionShape(1, queries, keys, 1, 16);
        for (DType dtype : CpuFixture.TYPES) {
            Results actual = results(2, dtype, shape, Dropout.NONE, 60);
            AttentionReference expected = reference(dtype, shape, Dropout.NONE, 60);
            double spread = 60; // scores, and with them the errors of their exponentials, are that much greater
            AttentionReference.assertClose("out", expected.out(), actual.out(),
                spread * tolerance(shape) + rounded(dtype));
            AttentionReference.assertClose("lse", expected.lse(), actual.lse(), tolerance(shape));
        }
    }

    /** The first block of keys says little of what is to come. */
    @ParameterizedTest
    @ValueSource(ints = {1056, 1100}) // blocks of whole pairs of vectors, and others
    void laterScoresMayExceedTheFirstByFar(int keys) {
        AttentionShape shape = new AttentionShape(1, 20, keys, 1, 16);
        float[] kv = inputs(DType.F32, 2, shape.keys() * 32);
        for (int i = 0; i < 600 * 32; i++) {
            kv[i] /= 1000;
        }
        for (DType dtype : CpuFixture.TYPES) {
            try (CpuFixture cpu = new CpuFixture(2)) {
                Tensor q = cpu.cast(cpu.of(scaled(inputs(dtype, 1, 20 * 16), 64), 1, 20, 1, 16), dtype);
                Tensor kvs = cpu.cast(cpu.of(kv, 1, keys, 2, 1, 16), dtype);
                Tensor out = cpu.poisoned(dtype, 1, 20, 1, 16);
                Tensor lse = cpu.poisoned(1, 1, 20);
                cpu.ops().attention().attention(out, lse, q, kvs, shape, Dropout.NONE);
                float[] queries = values(cpu.cast(q, DType.F32));
                AttentionReference expected = new AttentionReference(shape, Dropout.NONE, queries,
                    values(cpu.cast(kvs, DType.F32)), queries);
                AttentionReference.assertClose("out", expected.out(), values(cpu.cast(out, DType.F32)),
                    64 * tolerance(shape) + rounded(dtype));
                AttentionReference.assertClose("lse", expected.lse(), values(lse), tolerance(shape));
            }
        }
    }

    /** The model's loss is to show it when something has overflowed. */
    @ParameterizedTest
    @CsvSource({"3, 40", "32, 64"})
    void whatIsNotFiniteIsNotHidden(int rows, int keys) {
        AttentionShape shape = new AttentionShape(1, rows, keys, 1, 16);
        for (DType dtype : CpuFixture.TYPES) {
            try (CpuFixture cpu = new CpuFixture(1)) {
                float[] queries = inputs(dtype, 1, rows * 16);
                float[] kv = inputs(dtype, 2, keys * 32);
                queries[16] = Float.POSITIVE_INFINITY;
                Tensor out = cpu.poisoned(dtype, 1, rows, 1, 16);
                Tensor q = cpu.cast(cpu.of(queries, 1, rows, 1, 16), dtype);
                Tensor keysAndValues = cpu.cast(cpu.of(kv, 1, keys, 2, 1, 16), dtype);
                cpu.ops().attention().attention(out, cpu.poisoned(1, 1, rows), q, keysAndValues, shape, Dropout.NONE);
                float[] outs = values(cpu.cast(out, DType.F32));
                for (int i = 0; i < outs.length; i++) {
                    assertEquals(i / 16 == 1, Float.isNaN(outs[i]), dtype + " " + i + ": " + outs[i]);
                }
            }
        }
    }

    @Test
    void bitsDoNotDependOnTheNumberOfThreads() {
        AttentionShape oneHead = new AttentionShape(1, 200, 1100, 1, 24); // all threads add to the same dq
        assertBitsDoNotDependOnTheNumberOfThreads(oneHead, dropout(oneHead, 0.1));
        assertBitsDoNotDependOnTheNumberOfThreads(new AttentionShape(3, 64, 96, 4, 24), Dropout.NONE);
    }

    private static void assertBitsDoNotDependOnTheNumberOfThreads(AttentionShape shape, Dropout dropout) {
        for (DType dtype : CpuFixture.TYPES) {
            Results single = results(1, dtype, shape, dropout, 1);
            for (int threads = 2; threads <= 3; threads++) {
                Results several = results(threads, dtype, shape, dropout, 1);
                assertArrayEquals(single.out(), several.out());
                assertArrayEquals(single.lse(), several.lse());
                assertArrayEquals(single.dq(), several.dq());
                assertArrayEquals(single.dkv(), several.dkv());
            }
        }
    }

    /** The local heads and queries lie scattered in a larger tensor, as they would on one of several ranks. */
    private static Dropout dropout(AttentionShape shape, double probability) {
        return new Dropout(probability, new Philox.Key(7, 3), List.of(IndexSpan.whole(shape.batch()),
            new IndexSpan(1, 1, shape.heads() + 2), new IndexSpan(5, 2, 2 * shape.queries() + 9),
            new IndexSpan(3, 1, shape.keys() + 6)));
    }

    private static Results results(int threads, DType dtype, AttentionShape shape, Dropout dropout, float spread) {
        try (CpuFixture cpu = new CpuFixture(threads)) {
            long[] queries = {shape.batch(), shape.queries(), shape.heads(), shape.headDim()};
            long[] keys = {shape.batch(), shape.keys(), 2, shape.heads(), shape.headDim()};
            Tensor q = cpu.cast(cpu.of(scaled(inputs(dtype, 1, queries), spread), queries), dtype);
            Tensor kv = cpu.cast(cpu.random(2, keys), dtype);
            Tensor dOut = cpu.cast(cpu.random(3, queries), dtype);
            Tensor out = cpu.poisoned(dtype, queries);
            Tensor lse = cpu.poisoned(shape.batch(), shape.heads(), shape.queries());
            Tensor dq = cpu.poisoned(dtype, queries);
            Tensor dkv = cpu.poisoned(dtype, keys);
            cpu.ops().attention().attention(out, lse, q, kv, shape, dropout);
            cpu.ops().attention().attentionBackward(dq, dkv, dOut, q, kv, out, lse, shape, dropout);
            return new Results(values(cpu.cast(out, DType.F32)), values(lse), values(cpu.cast(dq, DType.F32)),
                values(cpu.cast(dkv, DType.F32)));
        }
    }

    private static AttentionReference reference(DType dtype, AttentionShape shape, Dropout dropout, float spread) {
        long[] queries = {shape.batch(), shape.queries(), shape.heads(), shape.headDim()};
        try (CpuFixture cpu = new CpuFixture(1)) {
            Tensor q = cpu.cast(cpu.of(scaled(inputs(dtype, 1, queries), spread), queries), dtype);
            return new AttentionReference(shape, dropout, values(cpu.cast(q, DType.F32)),
                inputs(dtype, 2, shape.batch(), shape.keys(), 2, shape.heads(), shape.headDim()),
                inputs(dtype, 3, queries));
        }
    }

    /** Numbers that the type holds. */
    private static float[] inputs(DType dtype, long seed, long... extents) {
        try (CpuFixture cpu = new CpuFixture(1)) {
            return values(cpu.cast(cpu.cast(cpu.random(seed, extents), dtype), DType.F32));
        }
    }

    private static float[] scaled(float[] values, float factor) {
        float[] scaled = values.clone();
        for (int i = 0; i < scaled.length; i++) {
            scaled[i] *= factor;
        }
        return scaled;
    }

    /** Weights, gradients of scores, what delta is made of and what comes out are rounded, each once. */
    private static double rounded(DType dtype) {
        return dtype == DType.F32 ? 0 : 4 * 0x1p-9;
    }

    /** The longest chain of roundings: the terms of a score and of the sums over keys and over queries, each once. */
    private static double tolerance(AttentionShape shape) {
        return EPSILON * (shape.headDim() + Math.max(shape.queries(), shape.keys()) + 8);
    }
}
