package org.isobar.backend.cpu.attention;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

import org.isobar.backend.cpu.generated.GeneratedCode;
import org.isobar.backend.cpu.generated.SoftmaxCode;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.tensor.DType;

/**
 * Softmax over rows whose scores arrive in pieces. Keeps a reference m and the sum of e^(score - m), and corrects both
 * when m grows (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018). The initial reference is
 * the maximum score of the first piece. Floating point is as precise far above one as near it, so the reference changes
 * only when a score exceeds it by more than {@link SoftmaxWeights#LEAP} octaves. Later pieces then need no search for
 * their maximum.
 */
final class OnlineSoftmax {
    private final double scale;
    /** Factor from unscaled scores to exponents of two. */
    private final float factor;
    /** Unscaled: the difference from a nearby score is exact, however large both are. */
    private final float[] references;
    /** One vector of partial sums for each row. */
    private final float[] sums;
    /** Sums of a row before its next scores. */
    private final float[] former = new float[WIDTH];
    private final MemorySegment room;

    /**
     * Creates a softmax over {@code rows} rows without scores. Scores are multiplied by {@code scale}.
     *
     * @param room native memory for one vector
     */
    OnlineSoftmax(int rows, double scale, MemorySegment room) {
        this.scale = scale;
        this.room = room;
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
        float reference = references[row];
        if (reference != Float.NEGATIVE_INFINITY
            && weigh(row, reference, SoftmaxWeights.LEAP, scores, dtype, weights, first, count)) {
            return 1;
        }
        float m = Math.max(reference, greatest(scores, first, count));
        float correction = (float) Math.exp(((double) reference - m) * scale);
        references[row] = m;
        FloatVector.fromArray(Lanes.F32, sums, row * WIDTH).mul(correction).intoArray(sums, row * WIDTH);
        weigh(row, m, SoftmaxWeights.ANY, scores, dtype, weights, first, count);
        return correction;
    }

    /**
     * Computes weights. Returns false, and leaves the row's sum unchanged, if a score exceeds m by more than {@code
     * leap} octaves.
     */
    private boolean weigh(int row, float m, int leap, MemorySegment scores, DType dtype, MemorySegment weights,
        int first, int count) {
        int at = row * WIDTH;
        int whole = dtype == DType.F32 ? count / WIDTH * WIDTH : count / (2 * WIDTH) * (2 * WIDTH);
        if (whole < count) {
            System.arraycopy(sums, at, former, 0, WIDTH);
        }
        boolean done = weigh(scores, dtype, weights, first, whole, m, at);
        int next = done ? whole : 0;
        if (next == count
            || SoftmaxWeights.bounded(scores, dtype, weights, first + next, count - next, m, factor, leap, sums, at)) {
            return true;
        }
        if (done) {
            System.arraycopy(former, 0, sums, at, WIDTH);
        }
        return false;
    }

    /** Computes weights in whole vectors, or pairs of them in BF16, by a fast loop. */
    private boolean weigh(MemorySegment scores, DType dtype, MemorySegment weights, int first, int count, float m,
        int at) {
        if (!GeneratedCode.hasLoops(dtype)) {
            return dtype == DType.F32
                ? SoftmaxWeights.toFloats(scores, weights, first, count, m, factor, sums, at)
                : SoftmaxWeights.toHalves(scores, weights, first, count, m, factor, sums, at);
        }
        Lanes.store(room, 0, FloatVector.fromArray(Lanes.F32, sums, at));
        SoftmaxCode.Weights row = new SoftmaxCode.Weights(Lanes.slice(scores, first, (long) first + count).address(),
            weights.asSlice((long) first * dtype.bytes(), (long) count * dtype.bytes()).address(), dtype);
        boolean done = SoftmaxCode.weights(row, room.address(), count / WIDTH, m, factor);
        if (done) {
            load(room, 0).intoArray(sums, at);
        }
        return done;
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
