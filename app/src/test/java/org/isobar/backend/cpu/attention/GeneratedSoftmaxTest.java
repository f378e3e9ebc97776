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
import org.isobar.backend.cpu.generated.SoftmaxCode;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The softmax in machine code has the bits of the loops in Java. */
final class GeneratedSoftmaxTest {
    private static final int COUNT = 40 * Lanes.WIDTH;
    private static final float FACTOR = 0.7f;

    @BeforeAll
    static void onlyWhereItIsUsed() {
        assumeTrue(GeneratedCode.isAvailable());
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
            assertEquals(inRange, SoftmaxCode.weights(scores.address(), weights.address(), ownSums.address(),
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
    @Test
    void rowsOfChannels() {
        int rows = 4;
        int width = 2 * Lanes.WIDTH;
        try (Arena arena = Arena.ofConfined()) {
            AttentionRows x = new AttentionRows(numbers(arena, 6, COUNT), 3, width + 5);
            AttentionRows y = new AttentionRows(numbers(arena, 7, COUNT), 1, width + 5);
            AttentionRows factors = new AttentionRows(numbers(arena, 8, COUNT), 2, 3);
            MemorySegment results = numbers(arena, 9, rows + 1);
            MemorySegment expected = arena.allocate(results.byteSize()).copyFrom(results);
            AttentionElements.dotRowsInJava(DType.F32, expected, x, y, rows, width);
            AttentionElements.dotRows(DType.F32, results, x, y, rows, width);
            assertEquals(-1, expected.mismatch(results));
            MemorySegment copy = arena.allocate(x.memory().byteSize()).copyFrom(x.memory());
            for (int row = 0; row < rows; row++) {
                AttentionElements.scale(DType.F32, copy, x.at(row), y.memory(), y.at(row), width,
                    factors.memory().getAtIndex(ValueLayout.JAVA_FLOAT, factors.at(row)), 0);
            }
            AttentionElements.scaleRows(DType.F32, x, y, factors, rows, width);
            assertEquals(-1, copy.mismatch(x.memory()));
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
