package org.isobar.backend.cpu.attention;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

import org.isobar.backend.cpu.generated.GeneratedCode;
import org.isobar.backend.cpu.generated.SoftmaxCode;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.tensor.DType;

/**
 * Softmax backward for transposed tiles: rows are keys, columns are queries. All operands are in one memory segment, so
 * that its bounds are checked once per loop; with one segment per operand the loop took twice the time. Offsets are in
 * bytes.
 *
 * @param memory     contains all operands
 * @param scores     offset of the scores, unscaled
 * @param dWeights   offset of the gradients of the weights
 * @param weightType type of the weights
 * @param weights    offset of the resulting weights; that of the scores in F32
 * @param dtype      type of the gradients of the scores
 * @param dScores    offset of the resulting gradients of the scores; that of the gradients of the weights in F32
 * @param references offset of the value, per query, added to its scaled scores to obtain exponents of two
 * @param deltas     offset of the value, per query, subtracted from the gradients of its weights
 * @param factor     multiplies scores
 */
record SoftmaxGradient(MemorySegment memory, long scores, long dWeights, DType weightType, long weights,
    DType dtype, long dScores, long references, long deltas, float factor) {

    /**
     * Processes rows that start {@code side} elements, whole vectors, apart: at least the first {@code count} queries
     * of each. Results behind them are undefined.
     */
    void tile(int rows, int side, int count) {
        if (isNative()) {
            rows(0, rows, side);
            return;
        }
        for (int row = 0; row < rows; row++) {
            rows(row * side, 1, Math.ceilDiv(count, WIDTH) * WIDTH);
        }
    }

    private boolean isNative() {
        return dtype == weightType && GeneratedCode.hasLoops(dtype);
    }

    /** Processes consecutive rows, from element {@code first}; {@code n} queries are whole vectors. */
    void rows(int first, int rows, int n) {
        if (isNative()) {
            runNative(first, rows, n);
            return;
        }
        int score = index(scores, DType.F32) + first;
        int dWeight = index(dWeights, DType.F32) + first;
        int weight = index(weights, weightType) + first;
        int dScore = index(dScores, dtype) + first;
        int reference = index(references, DType.F32);
        int delta = index(deltas, DType.F32);
        if (dtype == DType.F32) {
            toFloats(memory, score, dWeight, weight, dScore, reference, delta, rows, n, factor);
        } else if (weightType == DType.F32) {
            toBoth(memory, score, dWeight, weight, dScore, reference, delta, rows, n, factor);
        } else {
            toHalves(memory, score, dWeight, weight, dScore, reference, delta, rows, n, factor);
        }
    }

    private void runNative(int first, int rows, int n) {
        long tile = (long) rows * n;
        SoftmaxCode.gradient(new SoftmaxCode.Gradient(address(scores, DType.F32, first, tile),
            address(dWeights, DType.F32, first, tile), address(weights, dtype, first, tile),
            address(dScores, dtype, first, tile), dtype), address(references, DType.F32, 0, n),
            address(deltas, DType.F32, 0, n), factor, rows, n / WIDTH);
    }

    /** Returns the address of {@code count} elements, from number {@code first} of those at a byte offset. */
    private long address(long offset, DType type, long first, long count) {
        return memory.asSlice(offset + first * type.bytes(), count * type.bytes()).address();
    }

    private static int index(long offset, DType dtype) {
        return Math.toIntExact(offset / dtype.bytes());
    }

    // There is one loop per pair of types. A single loop that tests the types inside took 8 % longer in single
    // precision, even when compiled for one type. In a process that used both types, it allocated its vectors as
    // objects. The loops take their operands as parameters, which stay in registers; fields would be read again after
    // each store.

    @SuppressWarnings("checkstyle:ParameterNumber")
    static void toFloats(MemorySegment memory, int scores, int dWeights, int weights, int dScores,
        int references, int deltas, int rows, int count, float factor) {
        FloatVector scale = FloatVector.broadcast(Lanes.F32, factor);
        for (int row = 0; row < rows; row++) {
            int first = row * count;
            for (int i = 0; i <= count - WIDTH; i += WIDTH) {
                FloatVector weight = SoftmaxPower.ofWeight(
                    load(memory, scores + first + i).fma(scale, load(memory, references + i)));
                FloatVector dScore =
                    load(memory, dWeights + first + i).sub(load(memory, deltas + i)).mul(weight);
                Lanes.store(memory, weights + first + i, weight);
                Lanes.store(memory, dScores + first + i, dScore);
            }
        }
    }

    @SuppressWarnings("checkstyle:ParameterNumber")
    private static void toBoth(MemorySegment memory, int scores, int dWeights, int weights, int dScores,
        int references, int deltas, int rows, int count, float factor) {
        FloatVector scale = FloatVector.broadcast(Lanes.F32, factor);
        for (int row = 0; row < rows; row++) {
            int first = row * count;
            for (int i = 0; i <= count - WIDTH; i += WIDTH) {
                FloatVector weight = SoftmaxPower.ofWeight(
                    load(memory, scores + first + i).fma(scale, load(memory, references + i)));
                FloatVector dScore =
                    load(memory, dWeights + first + i).sub(load(memory, deltas + i)).mul(weight);
                Lanes.store(memory, weights + first + i, weight);
                AttentionElements.storeTile(DType.BF16, memory, dScores + first + i, dScore);
            }
        }
    }

    @SuppressWarnings("checkstyle:ParameterNumber")
    static void toHalves(MemorySegment memory, int scores, int dWeights, int weights, int dScores,
        int references, int deltas, int rows, int count, float factor) {
        FloatVector scale = FloatVector.broadcast(Lanes.F32, factor);
        for (int row = 0; row < rows; row++) {
            int first = row * count;
            for (int i = 0; i <= count - WIDTH; i += WIDTH) {
                FloatVector weight = SoftmaxPower.ofWeight(
                    load(memory, scores + first + i).fma(scale, load(memory, references + i)));
                FloatVector dScore =
                    load(memory, dWeights + first + i).sub(load(memory, deltas + i)).mul(weight);
                AttentionElements.storeTile(DType.BF16, memory, weights + first + i, weight);
                AttentionElements.storeTile(DType.BF16, memory, dScores + first + i, dScore);
            }
        }
    }
}
