package org.isobar.backend.cpu;

import static org.isobar.backend.cpu.Lanes.WIDTH;
import static org.isobar.backend.cpu.Lanes.load;
import static org.isobar.backend.cpu.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

/**
 * Softmax over rows whose scores come in pieces: with the greatest score so far, m, and the sum of e^(score - m) so
 * far, both corrected when m grows (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018).
 */
final class OnlineSoftmax {
    private final float[] greatest;
    /** One vector of partial sums for each row. */
    private final float[] sums;

    /** For {@code rows} rows, nothing seen yet. */
    OnlineSoftmax(int rows) {
        greatest = new float[rows];
        Arrays.fill(greatest, Float.NEGATIVE_INFINITY);
        sums = new float[rows * WIDTH];
    }

    /**
     * Turns the next {@code count} scores of a row, from element {@code first} of {@code scores} on, into
     * e^(score - m).
     *
     * @return the factor that corrects what was computed with the former m; 1 if m is the same
     */
    float next(int row, MemorySegment scores, int first, int count) {
        float former = greatest[row];
        float m = greatest(former, scores, first, count);
        float correction = m == former ? 1 : (float) Math.exp((double) former - m);
        greatest[row] = m;
        FloatVector sum = FloatVector.fromArray(Lanes.F32, sums, row * WIDTH).mul(correction);
        int i = 0;
        for (; i <= count - WIDTH; i += WIDTH) {
            FloatVector e = VectorMath.exp(load(scores, first + i).sub(m));
            store(scores, first + i, e);
            sum = sum.add(e);
        }
        if (i < count) {
            VectorMask<Float> rest = Lanes.below(i, count);
            FloatVector e = VectorMath.exp(load(scores, first + i, rest).sub(m));
            store(scores, first + i, e, rest);
            sum = sum.add(e, rest);
        }
        sum.intoArray(sums, row * WIDTH);
        return correction;
    }

    /** A score that is not a number is passed over here; its exponential spoils the row's sum all the same. */
    private static float greatest(float former, MemorySegment scores, int first, int count) {
        FloatVector top = FloatVector.broadcast(Lanes.F32, former);
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

    /** Sum of e^(score - m) over all scores of a row. */
    double sum(int row) {
        double sum = 0;
        for (int lane = 0; lane < WIDTH; lane++) {
            sum += sums[row * WIDTH + lane];
        }
        return sum;
    }

    /** Log of the sum of e^score over all scores of a row. */
    double logSum(int row) {
        return greatest[row] + Math.log(sum(row));
    }
}
