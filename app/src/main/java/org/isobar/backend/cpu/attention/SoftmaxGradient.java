package org.isobar.backend.cpu.attention;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;

import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.tensor.DType;

/**
 * The way back through a softmax, for transposed tiles: rows belong to keys, columns to queries. Everything lies in one
 * piece of memory, whose bounds are so found good once in a loop: as segments of their own, the operands cost twice the
 * time. Where they lie is said in bytes.
 *
 * @param memory     what they all lie in
 * @param scores     before they are scaled
 * @param dWeights   gradients of the weights
 * @param weightType of the weights
 * @param weights    where they go to; may be where the scores are
 * @param dtype      of the gradients of the scores
 * @param dScores    where they go to; may be where the gradients of the weights are
 * @param references for each query, what is added to its scaled scores to make them exponents of two
 * @param deltas     for each query, what is subtracted from the gradients of its weights
 * @param factor     scales scores
 */
record SoftmaxGradient(MemorySegment memory, long scores, long dWeights, DType weightType, long weights,
    DType dtype, long dScores, long references, long deltas, float factor) {

    /** Does it for the row that begins at element {@code first}: {@code count} queries, rounded up to vectors. */
    void row(int first, int count) {
        int n = Math.ceilDiv(count, WIDTH) * WIDTH;
        int score = index(scores, DType.F32) + first;
        int dWeight = index(dWeights, DType.F32) + first;
        int weight = index(weights, weightType) + first;
        int dScore = index(dScores, dtype) + first;
        int reference = index(references, DType.F32);
        int delta = index(deltas, DType.F32);
        if (dtype == DType.F32) {
            toFloats(memory, score, dWeight, weight, dScore, reference, delta, n, factor);
        } else if (weightType == DType.F32) {
            toBoth(memory, score, dWeight, weight, dScore, reference, delta, n, factor);
        } else {
            toHalves(memory, score, dWeight, weight, dScore, reference, delta, n, factor);
        }
    }

    private static int index(long offset, DType dtype) {
        return Math.toIntExact(offset / dtype.bytes());
    }

    // One loop for each pair of types. A single one, which asks for the types within, took 8 % longer in single
    // precision even compiled for itself; and where a process has used both types, it made objects of its vectors. What
    // the loops work on are parameters, in registers: fields would be read again after each store.

    @SuppressWarnings("checkstyle:ParameterNumber")
    private static void toFloats(MemorySegment memory, int scores, int dWeights, int weights, int dScores,
        int references, int deltas, int count, float factor) {
        FloatVector scale = FloatVector.broadcast(Lanes.F32, factor);
        for (int i = 0; i <= count - WIDTH; i += WIDTH) {
            FloatVector weight =
                SoftmaxPower.ofWeight(load(memory, scores + i).fma(scale, load(memory, references + i)));
            FloatVector dScore = load(memory, dWeights + i).sub(load(memory, deltas + i)).mul(weight);
            Lanes.store(memory, weights + i, weight);
            Lanes.store(memory, dScores + i, dScore);
        }
    }

    @SuppressWarnings("checkstyle:ParameterNumber")
    private static void toBoth(MemorySegment memory, int scores, int dWeights, int weights, int dScores,
        int references, int deltas, int count, float factor) {
        FloatVector scale = FloatVector.broadcast(Lanes.F32, factor);
        for (int i = 0; i <= count - WIDTH; i += WIDTH) {
            FloatVector weight =
                SoftmaxPower.ofWeight(load(memory, scores + i).fma(scale, load(memory, references + i)));
            FloatVector dScore = load(memory, dWeights + i).sub(load(memory, deltas + i)).mul(weight);
            Lanes.store(memory, weights + i, weight);
            AttentionElements.storeTile(DType.BF16, memory, dScores + i, dScore);
        }
    }

    @SuppressWarnings("checkstyle:ParameterNumber")
    private static void toHalves(MemorySegment memory, int scores, int dWeights, int weights, int dScores,
        int references, int deltas, int count, float factor) {
        FloatVector scale = FloatVector.broadcast(Lanes.F32, factor);
        for (int i = 0; i <= count - WIDTH; i += WIDTH) {
            FloatVector weight =
                SoftmaxPower.ofWeight(load(memory, scores + i).fma(scale, load(memory, references + i)));
            FloatVector dScore = load(memory, dWeights + i).sub(load(memory, deltas + i)).mul(weight);
            AttentionElements.storeTile(DType.BF16, memory, weights + i, weight);
            AttentionElements.storeTile(DType.BF16, memory, dScores + i, dScore);
        }
    }
}
