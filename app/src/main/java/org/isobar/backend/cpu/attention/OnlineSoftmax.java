package org.isobar.backend.cpu.attention;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
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
    private final int rows;
    private final double scale;
    /** Factor from unscaled scores to exponents of two. */
    private final float factor;
    /** One vector of partial sums for each row. */
    private final MemorySegment sums;
    /** Unscaled: the difference from a nearby score is exact, however large both are. */
    private final MemorySegment references;
    /** Sums of a row before its next scores. */
    private final float[] former = new float[WIDTH];
    private boolean hasScores;

    /**
     * Scores of all rows, and memory for their weights. In both memories, rows start {@code side} elements apart, and
     * {@code count} elements extend to whole vectors. The weights of a row may replace scores of the row before.
     */
    record Tile(MemorySegment scores, DType dtype, MemorySegment weights, int side, int count) {
        /** Number of scores of a row that fast loops process: whole vectors, or pairs of them in BF16. */
        private int whole() {
            int unit = dtype == DType.F32 ? WIDTH : 2 * WIDTH;
            return count / unit * unit;
        }

        /** Addresses of the first {@code count} elements of each of {@code rows} rows. */
        private SoftmaxCode.Weights addresses(int row, int rows, int count) {
            long first = (long) row * side;
            long elements = (long) (rows - 1) * side + count;
            return new SoftmaxCode.Weights(Lanes.slice(scores, first, first + elements).address(),
                weights.asSlice(first * dtype.bytes(), elements * dtype.bytes()).address(), dtype);
        }
    }

    /** Receives the factors that correct results computed with a previous m. */
    interface Correction {
        void apply(int row, float factor);
    }

    /** Bytes of native memory for a softmax over {@code rows} rows. */
    static long bytes(long rows) {
        return rows * (WIDTH + 1) * Float.BYTES;
    }

    /**
     * Creates a softmax over {@code rows} rows without scores. Scores are multiplied by {@code scale}.
     *
     * @param room native memory of at least {@link #bytes}
     */
    OnlineSoftmax(int rows, double scale, MemorySegment room) {
        this.rows = rows;
        this.scale = scale;
        factor = (float) (scale / Math.log(2));
        sums = Lanes.slice(room, 0, (long) rows * WIDTH);
        references = Lanes.slice(room, (long) rows * WIDTH, (long) rows * (WIDTH + 1));
        sums.fill((byte) 0);
        for (int row = 0; row < rows; row++) {
            references.setAtIndex(ValueLayout.JAVA_FLOAT, row, Float.NEGATIVE_INFINITY);
        }
    }

    /** Computes the weights e^(score - m) of the next scores. */
    void next(Tile tile, Correction correction) {
        boolean together = GeneratedCode.hasLoops(tile.dtype) && tile.whole() == tile.count;
        if (together && !hasScores) {
            SoftmaxCode.maxima(tile.addresses(0, rows, tile.count).scores(), references.address(), rows,
                tile.count / WIDTH, tile.side - tile.count);
        }
        int row = together ? addWeights(0, rows, tile, tile.count) : 0;
        while (row < rows) {
            float changed = next(row, tile);
            if (hasScores && changed != 1) {
                correction.apply(row, changed);
            }
            row++;
            row += together ? addWeights(row, rows - row, tile, tile.count) : 0;
        }
        hasScores = true;
    }

    /** Processes the scores of a row. Returns the factor of the correction; 1 if m has not changed. */
    private float next(int row, Tile tile) {
        float reference = reference(row);
        if (reference != Float.NEGATIVE_INFINITY && weigh(row, SoftmaxWeights.LEAP, tile)) {
            return 1;
        }
        float m = Math.max(reference, greatest(tile.scores, row * tile.side, tile.count));
        float correction = (float) Math.exp(((double) reference - m) * scale);
        references.setAtIndex(ValueLayout.JAVA_FLOAT, row, m);
        Lanes.store(sums, row * WIDTH, load(sums, row * WIDTH).mul(correction));
        weigh(row, SoftmaxWeights.ANY, tile);
        return correction;
    }

    private float reference(int row) {
        return references.getAtIndex(ValueLayout.JAVA_FLOAT, row);
    }

    /**
     * Computes the weights of a row. Returns false, and leaves the row's sum unchanged, if a score exceeds m by more
     * than {@code leap} octaves.
     */
    private boolean weigh(int row, int leap, Tile tile) {
        int at = row * WIDTH;
        int whole = tile.whole();
        if (whole < tile.count) {
            load(sums, at).intoArray(former, 0);
        }
        boolean done = weighWhole(row, tile);
        int next = done ? whole : 0;
        if (next == tile.count || SoftmaxWeights.bounded(tile.scores, tile.dtype, tile.weights, row * tile.side + next,
            tile.count - next, reference(row), factor, leap, sums, at)) {
            return true;
        }
        if (done) {
            Lanes.store(sums, at, FloatVector.fromArray(Lanes.F32, former, 0));
        }
        return false;
    }

    /** Computes the first weights of a row by a fast loop. */
    private boolean weighWhole(int row, Tile tile) {
        if (GeneratedCode.hasLoops(tile.dtype)) {
            return addWeights(row, 1, tile, tile.whole()) == 1;
        }
        return tile.dtype == DType.F32
            ? SoftmaxWeights.toFloats(tile.scores, tile.weights, row * tile.side, tile.whole(), reference(row), factor,
                sums, row * WIDTH)
            : SoftmaxWeights.toHalves(tile.scores, tile.weights, row * tile.side, tile.whole(), reference(row), factor,
                sums, row * WIDTH);
    }

    /** Computes the first {@code count} weights of rows in machine code. Returns the number of rows, from the first. */
    private int addWeights(int row, int rows, Tile tile, int count) {
        return rows == 0 ? 0 : SoftmaxCode.addWeights(tile.addresses(row, rows, count),
            references.address() + (long) row * Float.BYTES, sums.address() + (long) row * WIDTH * Float.BYTES, rows,
            count / WIDTH, tile.side - count, factor);
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
            sum += sums.getAtIndex(ValueLayout.JAVA_FLOAT, (long) row * WIDTH + lane);
        }
        return sum;
    }

    /** Log of the sum of e^score over all scores of a row. */
    double logSum(int row) {
        return reference(row) * scale + Math.log(sum(row));
    }
}
