package org.isobar.backend.cpu.attention;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.tensor.DType;

/**
 * Softmax over rows whose scores arrive in pieces. Keeps a reference m and the sum of e^(score - m), and corrects both
 * when m grows (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018). The initial reference is
 * the maximum score of the first piece. Floating point is as precise far above one as near it, so the reference changes
 * only when a score exceeds it by more than {@link #LEAP}. Later pieces then need no search for their maximum.
 */
final class OnlineSoftmax {
    /** Far below the exponent at which sums of 2^LEAP, and products with them, overflow. */
    private static final int LEAP = 40;
    private static final int ANY = Integer.MAX_VALUE - SoftmaxPower.ZERO;

    private final double scale;
    /** Factor from unscaled scores to exponents of two. */
    private final float factor;
    /** Unscaled: the difference from a nearby score is exact, however large both are. */
    private final float[] references;
    /** One vector of partial sums for each row. */
    private final float[] sums;

    /** Creates a softmax over {@code rows} rows without scores. Scores are multiplied by {@code scale}. */
    OnlineSoftmax(int rows, double scale) {
        this.scale = scale;
        factor = (float) (scale / Math.log(2));
        references = new float[rows];
        Arrays.fill(references, Float.NEGATIVE_INFINITY);
        sums = new float[rows * WIDTH];
    }

    /**
     * Computes the weights e^(score - m) of the next {@code count} scores of a row. Both start at element {@code first}
     * of their memory and extend to whole vectors.
     *
     * @return the factor that corrects results computed with the previous m; 1 if m has not changed
     */
    float next(int row, MemorySegment scores, DType dtype, MemorySegment weights, int first, int count) {
        float former = references[row];
        if (former != Float.NEGATIVE_INFINITY
            && weigh(row, former, 1, LEAP, scores, dtype, weights, first, count)) {
            return 1;
        }
        float m = Math.max(former, greatest(scores, first, count));
        float correction = (float) Math.exp(((double) former - m) * scale);
        references[row] = m;
        weigh(row, m, correction, ANY, scores, dtype, weights, first, count);
        return correction;
    }

    /**
     * Computes weights. Returns false, and leaves the row's sum unchanged, if a score exceeds m by more than {@code
     * leap}.
     */
    private boolean weigh(int row, float m, float correction, int leap, MemorySegment scores, DType dtype,
        MemorySegment weights, int first, int count) {
        FloatVector sum = FloatVector.fromArray(Lanes.F32, sums, row * WIDTH).mul(correction);
        IntVector greatest = IntVector.broadcast(SoftmaxPower.I32, Integer.MIN_VALUE);
        int i = 0;
        for (; i <= count - WIDTH; i += WIDTH) {
            FloatVector x = SoftmaxPower.bounded(load(scores, first + i).sub(m).mul(factor));
            FloatVector shifted = SoftmaxPower.shifted(x);
            greatest = greatest.max(shifted.reinterpretAsInts());
            FloatVector weight = SoftmaxPower.of(x, shifted);
            AttentionElements.storeTile(dtype, weights, first + i, weight);
            sum = sum.add(weight);
        }
        if (i < count) {
            VectorMask<Float> rest = Lanes.below(i, count);
            FloatVector x = SoftmaxPower.bounded(load(scores, first + i).sub(m).mul(factor));
            FloatVector shifted = SoftmaxPower.shifted(x);
            greatest = greatest.lanewise(VectorOperators.MAX, shifted.reinterpretAsInts(), rest.cast(SoftmaxPower.I32));
            FloatVector weight = SoftmaxPower.of(x, shifted);
            AttentionElements.storeTile(dtype, weights, first + i, weight);
            sum = sum.add(weight, rest);
        }
        if (greatest.reduceLanes(VectorOperators.MAX) > SoftmaxPower.ZERO + leap) {
            return false;
        }
        sum.intoArray(sums, row * WIDTH);
        return true;
    }

    /** Returns the maximum score, ignoring NaN. The exponential of a NaN score still makes the row's sum NaN. */
    private static float greatest(MemorySegment scores, int first, int count) {
        FloatVector top = FloatVector.broadcast(Lanes.F32, Float.NEGATIVE_INFINITY);
        int i = 0;
        for (; i <= count - WIDTH; i += WIDTH) {
            FloatVector score = load(scores, first + i);
            top = top.blend(score, score.compare(VectorOperators.GT, top));
        }
        if (i < count) {
            VectorMask<Float> rest = Lanes.below(i, count);
            FloatVector score = load(scores, first + i, rest);
            top = top.blend(score, score.compare(VectorOperators.GT, top).and(rest));
        }
        return top.reduceLanes(VectorOperators.MAX);
    }

    /** Sum of the weights of all scores of a row. */
    double sum(int row) {
        double sum = 0;
        for (int lane = 0; lane < WIDTH; lane++) {
            sum += sums[row * WIDTH + lane];
        }
        return sum;
    }

    /** Log of the sum of e^score over all scores of a row. */
    double logSum(int row) {
        return references[row] * scale + Math.log(sum(row));
    }
}
