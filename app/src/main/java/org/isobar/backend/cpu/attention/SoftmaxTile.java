package org.isobar.backend.cpu.attention;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

import org.isobar.backend.cpu.generated.GeneratedCode;
import org.isobar.backend.cpu.generated.SoftmaxCode;
import org.isobar.backend.cpu.vector.Bfloat16;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.tensor.DType;

/**
 * Softmax of whole rows of scores: the weights 2^(factor (score - m)), where m is the row's maximum. Rows follow each
 * other without gaps and consist of whole vectors. All operands are in one memory segment, at indices that count their
 * elements. Each loop is compiled separately (app/jvm.options).
 */
final class SoftmaxTile {
    /** Index of the inverse of a sum behind the sum. */
    static final int INVERSE = Double.BYTES / Float.BYTES;

    private SoftmaxTile() { }

    /** Writes the maximum of each row, ignoring NaN. */
    static void toMaxima(MemorySegment memory, int scores, int maxima, int rows, int columns) {
        if (GeneratedCode.hasLoops(DType.F32)) {
            SoftmaxCode.maxima(address(memory, scores, (long) rows * columns), address(memory, maxima, rows), rows,
                columns / WIDTH, 0);
        } else {
            toMaximaInJava(memory, scores, maxima, rows, columns);
        }
    }

    static void toMaximaInJava(MemorySegment memory, int scores, int maxima, int rows, int columns) {
        for (int row = 0; row < rows; row++) {
            int first = scores + row * columns;
            FloatVector top = FloatVector.broadcast(Lanes.F32, Float.NEGATIVE_INFINITY);
            for (int i = 0; i <= columns - WIDTH; i += WIDTH) {
                FloatVector score = load(memory, first + i);
                top = top.blend(score, score.compare(VectorOperators.GT, top));
            }
            memory.setAtIndex(ValueLayout.JAVA_FLOAT, maxima + row, top.reduceLanes(VectorOperators.MAX));
        }
    }

    /** Replaces scores by weights in F32, and writes one vector of partial sums per row. */
    static void toFloats(MemorySegment memory, int scores, int maxima, int sums, int rows, int columns, float factor) {
        if (GeneratedCode.hasLoops(DType.F32)) {
            long tile = address(memory, scores, (long) rows * columns);
            SoftmaxCode.weights(new SoftmaxCode.Weights(tile, tile, DType.F32), address(memory, maxima, rows),
                address(memory, sums, (long) rows * WIDTH), rows, columns / WIDTH, factor);
        } else {
            toFloatsInJava(memory, scores, maxima, sums, rows, columns, factor);
        }
    }

    /** Returns the address of {@code count} floats from {@code index} on. */
    private static long address(MemorySegment memory, int index, long count) {
        return Lanes.slice(memory, index, index + count).address();
    }

    static void toFloatsInJava(MemorySegment memory, int scores, int maxima, int sums, int rows, int columns,
        float factor) {
        FloatVector scale = FloatVector.broadcast(Lanes.F32, factor);
        for (int row = 0; row < rows; row++) {
            int first = scores + row * columns;
            FloatVector m =
                FloatVector.broadcast(Lanes.F32, memory.getAtIndex(ValueLayout.JAVA_FLOAT, maxima + row));
            FloatVector sum = FloatVector.zero(Lanes.F32);
            for (int i = 0; i <= columns - WIDTH; i += WIDTH) {
                FloatVector x = SoftmaxPower.bounded(load(memory, first + i).sub(m).mul(scale));
                FloatVector weight = SoftmaxPower.of(x, SoftmaxPower.shifted(x));
                Lanes.store(memory, first + i, weight);
                sum = sum.add(weight);
            }
            Lanes.store(memory, sums + row * WIDTH, sum);
        }
    }

    /**
     * Replaces each vector of partial sums by their sum, a double, and its inverse, a float at element {@link
     * #INVERSE}.
     */
    static void toInverseSums(MemorySegment memory, int sums, int rows) {
        if (GeneratedCode.hasLoops(DType.F32)) {
            SoftmaxCode.sums(address(memory, sums, (long) rows * WIDTH), rows);
        } else {
            toInverseSumsInJava(memory, sums, rows);
        }
    }

    static void toInverseSumsInJava(MemorySegment memory, int sums, int rows) {
        for (int row = 0; row < rows; row++) {
            int first = sums + row * WIDTH;
            double sum = 0;
            for (int lane = 0; lane < WIDTH; lane++) {
                sum += memory.getAtIndex(ValueLayout.JAVA_FLOAT, first + lane);
            }
            memory.set(ValueLayout.JAVA_DOUBLE, (long) first * Float.BYTES, sum);
            memory.setAtIndex(ValueLayout.JAVA_FLOAT, first + INVERSE, (float) (1 / sum));
        }
    }

    /**
     * Computes weights in BF16, and one vector of partial sums per row, from scores, which may be overwritten.
     *
     * @param weights index of the weights, in elements of BF16
     */
    static void toHalves(MemorySegment memory, int scores, int weights, int maxima, int sums, int rows, int columns,
        float factor) {
        if (GeneratedCode.hasLoops(DType.BF16)) {
            SoftmaxCode.weights(new SoftmaxCode.Weights(address(memory, scores, (long) rows * columns),
                memory.asSlice((long) weights * Short.BYTES, (long) rows * columns * Short.BYTES).address(),
                DType.BF16), address(memory, maxima, rows), address(memory, sums, (long) rows * WIDTH), rows,
                columns / WIDTH, factor);
        } else {
            toRoughFloats(memory, scores, maxima, sums, rows, columns, factor);
            toHalves(memory, scores, weights, rows * columns);
        }
    }

    /**
     * Replaces scores by weights that suffice for rounding to BF16, and writes one vector of partial sums per row.
     * Rounding is a loop of its own, so that this one has few operations.
     */
    static void toRoughFloats(MemorySegment memory, int scores, int maxima, int sums, int rows, int columns,
        float factor) {
        FloatVector scale = FloatVector.broadcast(Lanes.F32, factor);
        for (int row = 0; row < rows; row++) {
            int first = scores + row * columns;
            FloatVector shift = FloatVector.broadcast(Lanes.F32,
                -memory.getAtIndex(ValueLayout.JAVA_FLOAT, maxima + row) * factor);
            FloatVector sum = FloatVector.zero(Lanes.F32);
            for (int i = 0; i <= columns - WIDTH; i += WIDTH) {
                FloatVector x = SoftmaxPower.bounded(load(memory, first + i).fma(scale, shift));
                FloatVector weight = SoftmaxPower.ofHalf(x, SoftmaxPower.shifted(x));
                Lanes.store(memory, first + i, weight);
                sum = sum.add(weight);
            }
            Lanes.store(memory, sums + row * WIDTH, sum);
        }
    }

    /** Copies {@code count} floats, whole pairs of vectors, to BF16. */
    static void toHalves(MemorySegment memory, int floats, int halves, int count) {
        for (int i = 0; i <= count - 2 * WIDTH; i += 2 * WIDTH) {
            Bfloat16.storePair(memory, halves + i, load(memory, floats + i), load(memory, floats + i + WIDTH));
        }
    }
}
