package org.isobar.backend.cpu.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

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

    /** One score of the third row is replaced by 0 or by one that is out of range, no number, or too great. */
    @ParameterizedTest
    @ValueSource(floats = {0, -200, 200, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, 60})
    void weights(float special) {
        checkWeights(special, DType.F32);
    }

    /** Java rounds ties away from zero; there are none among these weights. */
    @ParameterizedTest
    @ValueSource(floats = {0, -200, 200, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, 60})
    void weightsInHalves(float special) {
        assumeTrue(GeneratedCode.hasLoops(DType.BF16));
        checkWeights(special, DType.BF16);
    }

    /** Compares the rows up to the first that is not in range. The sums of the others stay, as do later weights. */
    private static void checkWeights(float special, DType dtype) {
        int rows = 4;
        int width = 8 * Lanes.WIDTH;
        int side = width + 6;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment scores = numbers(arena, 1, rows * side);
            scores.setAtIndex(ValueLayout.JAVA_FLOAT, 2 * side + 13, special);
            MemorySegment references = numbers(arena, 2, rows);
            MemorySegment sums = numbers(arena, 3, rows * Lanes.WIDTH);
            MemorySegment expectedSums = arena.allocate(sums.byteSize()).copyFrom(sums);
            MemorySegment weights = arena.allocate((long) rows * side * dtype.bytes());
            MemorySegment expected = arena.allocate(weights.byteSize());
            int row = 0;
            while (row < rows && inJava(scores, dtype, expected, row * side, width,
                references.getAtIndex(ValueLayout.JAVA_FLOAT, row), expectedSums, row * Lanes.WIDTH)) {
                row++;
            }
            assertEquals(special == 0 ? rows : 2, row);
            assertEquals(row, SoftmaxCode.addWeights(
                new SoftmaxCode.Weights(scores.address(), weights.address(), dtype), references.address(),
                sums.address(), rows, width / Lanes.WIDTH, side - width, FACTOR));
            assertEquals(-1, expectedSums.mismatch(sums));
            long computed = (long) row * side * dtype.bytes();
            assertEquals(-1, expected.asSlice(0, computed).mismatch(weights.asSlice(0, computed)));
            if (row < rows) {
                long behind = (row + 1L) * side * dtype.bytes();
                assertEquals(-1, expected.asSlice(behind).mismatch(weights.asSlice(behind)));
            }
        }
    }

    private static boolean inJava(MemorySegment scores, DType dtype, MemorySegment weights, int first, int count,
        float m, MemorySegment sums, int at) {
        return dtype == DType.F32 ? SoftmaxWeights.toFloats(scores, weights, first, count, m, FACTOR, sums, at)
            : SoftmaxWeights.toHalves(scores, weights, first, count, m, FACTOR, sums, at);
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

    @Test
    void maximaOfRowsApart() {
        int rows = 3;
        int width = 2 * Lanes.WIDTH;
        int side = width + 5;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment scores = numbers(arena, 4, rows * side);
            MemorySegment maxima = numbers(arena, 5, rows + 1);
            float[] expected = maxima.toArray(ValueLayout.JAVA_FLOAT);
            for (int row = 0; row < rows; row++) {
                expected[row] = Float.NEGATIVE_INFINITY;
                for (int i = 0; i < width; i++) {
                    expected[row] =
                        Math.max(expected[row], scores.getAtIndex(ValueLayout.JAVA_FLOAT, (long) row * side + i));
                }
            }
            SoftmaxCode.maxima(scores.address(), maxima.address(), rows, width / Lanes.WIDTH, side - width);
            assertArrayEquals(expected, maxima.toArray(ValueLayout.JAVA_FLOAT));
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
