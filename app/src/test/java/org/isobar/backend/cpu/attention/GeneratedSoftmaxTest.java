package org.isobar.backend.cpu.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

import org.isobar.backend.cpu.FloatBits;
import org.isobar.backend.cpu.generated.GeneratedCode;
import org.isobar.backend.cpu.generated.RowCode;
import org.isobar.backend.cpu.generated.SoftmaxCode;
import org.isobar.backend.cpu.vector.Bfloat16;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The softmax in machine code has the bits of the loops in Java. */
final class GeneratedSoftmaxTest {
    private static final int COUNT = 40 * Lanes.WIDTH;
    private static final float FACTOR = 0.7f;

    @BeforeAll
    static void onlyWhereItIsUsed() {
        assumeTrue(GeneratedCode.hasLoops(DType.F32));
    }

    /** A score that is replaced: none is special, out of range, no number, or so great that the sum is. */
    @ParameterizedTest
    @ValueSource(floats = {0, -200, 200, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, 60})
    void weights(float special) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment scores = numbers(arena, 1, COUNT);
            scores.setAtIndex(ValueLayout.JAVA_FLOAT, 13, special);
            float[] sums = new float[Lanes.WIDTH];
            Arrays.fill(sums, 3);
            MemorySegment ownSums = arena.allocateFrom(ValueLayout.JAVA_FLOAT, sums);
            MemorySegment expected = arena.allocate(scores.byteSize());
            MemorySegment weights = arena.allocate(scores.byteSize());
            boolean inRange = SoftmaxWeights.toFloats(scores, expected, 0, COUNT, 1.5f, FACTOR, sums, 0);
            assertEquals(inRange, SoftmaxCode.weights(
                new SoftmaxCode.Weights(scores.address(), weights.address(), DType.F32), ownSums.address(),
                COUNT / Lanes.WIDTH, 1.5f, FACTOR));
            assertEquals(-1, expected.mismatch(weights));
            if (inRange) {
                assertArrayEquals(sums, ownSums.toArray(ValueLayout.JAVA_FLOAT));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(floats = {0, -200, 200, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY})
    void gradients(float special) {
        int rows = 5;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = numbers(arena, 2, 2 * rows * COUNT + 2 * COUNT);
            memory.setAtIndex(ValueLayout.JAVA_FLOAT, COUNT + 3, special);
            MemorySegment expected = arena.allocate(memory.byteSize()).copyFrom(memory);
            long tile = (long) rows * COUNT;
            SoftmaxGradient.toFloats(expected, 0, rows * COUNT, 0, rows * COUNT, 2 * rows * COUNT,
                (2 * rows + 1) * COUNT, rows, COUNT, FACTOR);
            new SoftmaxGradient(memory, 0, tile * Float.BYTES, DType.F32, 0, DType.F32, tile * Float.BYTES,
                2 * tile * Float.BYTES, (2 * tile + COUNT) * Float.BYTES, FACTOR).rows(0, rows, COUNT);
            assertEquals(-1, expected.mismatch(memory));
        }
    }

    /** Whole rows, as short sequences have them. */
    @ParameterizedTest
    @ValueSource(floats = {0, -200, 200, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY})
    void rows(float special) {
        int rows = 5;
        int maxima = rows * COUNT;
        int sums = maxima + Lanes.WIDTH;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = numbers(arena, 3, sums + rows * Lanes.WIDTH);
            memory.setAtIndex(ValueLayout.JAVA_FLOAT, COUNT + 3, special);
            MemorySegment expected = arena.allocate(memory.byteSize()).copyFrom(memory);
            SoftmaxTile.toMaximaInJava(expected, 0, maxima, rows, COUNT);
            SoftmaxTile.toMaxima(memory, 0, maxima, rows, COUNT);
            assertEquals(-1, expected.mismatch(memory));
            SoftmaxTile.toFloatsInJava(expected, 0, maxima, sums, rows, COUNT, FACTOR);
            SoftmaxTile.toFloats(memory, 0, maxima, sums, rows, COUNT, FACTOR);
            assertArrayEquals(FloatBits.of(expected), FloatBits.of(memory));
            SoftmaxTile.toInverseSumsInJava(expected, sums, rows);
            SoftmaxTile.toInverseSums(memory, sums, rows);
            assertArrayEquals(FloatBits.of(expected), FloatBits.of(memory));
        }
    }

    @Test
    void vectorsOfChannels() {
        int count = 2 * Lanes.WIDTH + 3;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment x = numbers(arena, 4, COUNT);
            MemorySegment y = numbers(arena, 5, COUNT);
            MemorySegment expected = arena.allocate(y.byteSize()).copyFrom(y);
            AttentionElements.scale(DType.F32, expected, 2, x, 3, count, FACTOR, 0);
            AttentionElements.scale(DType.F32, y, 2, x, 3, count, FACTOR);
            assertEquals(-1, expected.mismatch(y));
        }
    }

    /** Rows with gaps between them. What is between and behind them stays as it is. */
    @ParameterizedTest
    @EnumSource(names = {"F32", "BF16"})
    void rowsOfChannels(DType dtype) {
        assumeTrue(GeneratedCode.hasLoops(dtype));
        int rows = 4;
        int width = 2 * Lanes.WIDTH;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment whole = operands(arena, 6, dtype);
            RowCode.Rows x = rows(whole, dtype, 3, width + 5);
            RowCode.Rows y = rows(operands(arena, 7, dtype), dtype, 1, width + 5);
            RowCode.Rows from = rows(numbers(arena, 7, COUNT), DType.F32, 1, width + 5);
            RowCode.Rows factors = rows(numbers(arena, 8, COUNT), DType.F32, 2, 3);
            MemorySegment results = numbers(arena, 9, rows + 1);
            MemorySegment expected = arena.allocate(results.byteSize()).copyFrom(results);
            AttentionElements.dotRowsInJava(expected, x, y, rows, width);
            AttentionElements.dotRows(results, x, y, rows, width);
            assertEquals(-1, expected.mismatch(results));
            MemorySegment copy = arena.allocate(whole.byteSize()).copyFrom(whole);
            for (int row = 0; row < rows; row++) {
                AttentionElements.scale(dtype, copy, 3 + row * x.stride(), from.memory(), row * from.stride(), width,
                    factors.memory().getAtIndex(ValueLayout.JAVA_FLOAT, (long) row * factors.stride()), 0);
            }
            AttentionElements.scaleRows(x, from, factors, rows, width);
            assertEquals(-1, copy.mismatch(whole));
        }
    }

    private static RowCode.Rows rows(MemorySegment memory, DType dtype, int first, int stride) {
        return new RowCode.Rows(memory.asSlice((long) first * dtype.bytes()), dtype, stride);
    }

    private static MemorySegment operands(Arena arena, long seed, DType dtype) {
        MemorySegment numbers = numbers(arena, seed, COUNT);
        if (dtype == DType.F32) {
            return numbers;
        }
        MemorySegment halves = arena.allocate(numbers.byteSize() / 2, Lanes.F32.vectorByteSize());
        Bfloat16.narrow(halves, numbers);
        return halves;
    }

    /** Java rounds ties away from zero; there are none among these weights. */
    @ParameterizedTest
    @ValueSource(floats = {0, -200, 200, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, 60})
    void weightsInHalves(float special) {
        assumeTrue(GeneratedCode.hasLoops(DType.BF16));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment scores = numbers(arena, 1, COUNT);
            scores.setAtIndex(ValueLayout.JAVA_FLOAT, 13, special);
            float[] sums = new float[Lanes.WIDTH];
            Arrays.fill(sums, 3);
            MemorySegment ownSums = arena.allocateFrom(ValueLayout.JAVA_FLOAT, sums);
            MemorySegment expected = arena.allocate(scores.byteSize() / 2);
            MemorySegment weights = arena.allocate(scores.byteSize() / 2);
            boolean inRange = SoftmaxWeights.toHalves(scores, expected, 0, COUNT, 1.5f, FACTOR, sums, 0);
            assertEquals(inRange, SoftmaxCode.weights(
                new SoftmaxCode.Weights(scores.address(), weights.address(), DType.BF16), ownSums.address(),
                COUNT / Lanes.WIDTH, 1.5f, FACTOR));
            if (inRange) {
                assertEquals(-1, expected.mismatch(weights));
                assertArrayEquals(sums, ownSums.toArray(ValueLayout.JAVA_FLOAT));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(floats = {0, -200, 200, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY})
    void rowsInHalves(float special) {
        assumeTrue(GeneratedCode.hasLoops(DType.BF16));
        int rows = 5;
        int maxima = rows * COUNT;
        int sums = maxima + Lanes.WIDTH;
        int weights = sums + rows * Lanes.WIDTH;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = numbers(arena, 3, weights + rows * COUNT / 2);
            memory.setAtIndex(ValueLayout.JAVA_FLOAT, COUNT + 3, special);
            SoftmaxTile.toMaxima(memory, 0, maxima, rows, COUNT);
            MemorySegment expected = arena.allocate(memory.byteSize()).copyFrom(memory);
            SoftmaxTile.toRoughFloats(expected, 0, maxima, sums, rows, COUNT, FACTOR);
            SoftmaxTile.toHalves(expected, 0, 2 * weights, rows * COUNT);
            SoftmaxTile.toHalves(memory, 0, 2 * weights, maxima, sums, rows, COUNT, FACTOR);
            assertEquals(-1, Lanes.slice(expected, sums, weights).mismatch(Lanes.slice(memory, sums, weights)));
            assertEquals(-1, Lanes.slice(expected, weights, Lanes.count(expected))
                .mismatch(Lanes.slice(memory, weights, Lanes.count(memory))));
        }
    }

    @ParameterizedTest
    @ValueSource(floats = {0, -200, 200, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY})
    void gradientsInHalves(float special) {
        assumeTrue(GeneratedCode.hasLoops(DType.BF16));
        int rows = 5;
        int tile = rows * COUNT;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = numbers(arena, 2, 3 * tile + 2 * COUNT);
            memory.setAtIndex(ValueLayout.JAVA_FLOAT, COUNT + 3, special);
            MemorySegment expected = arena.allocate(memory.byteSize()).copyFrom(memory);
            int references = 3 * tile;
            SoftmaxGradient.toHalves(expected, 0, tile, 4 * tile, 5 * tile, references, references + COUNT, rows, COUNT,
                FACTOR);
            new SoftmaxGradient(memory, 0, (long) tile * Float.BYTES, DType.BF16, 4L * tile * Short.BYTES, DType.BF16,
                5L * tile * Short.BYTES, (long) references * Float.BYTES, (references + COUNT) * (long) Float.BYTES,
                FACTOR).rows(0, rows, COUNT);
            assertEquals(-1, expected.mismatch(memory));
        }
    }

    private static MemorySegment numbers(Arena arena, long seed, int count) {
        MemorySegment numbers = arena.allocate((long) count * Float.BYTES, Lanes.F32.vectorByteSize());
        Philox.Key key = Philox.Key.of(seed, "softmax");
        for (int i = 0; i < count; i++) {
            numbers.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) (6 * Philox.uniform(key, i) - 5));
        }
        return numbers;
    }
}
