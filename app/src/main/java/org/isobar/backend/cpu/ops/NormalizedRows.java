package org.isobar.backend.cpu.ops;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;
import static org.isobar.backend.cpu.vector.Lanes.slice;
import static org.isobar.backend.cpu.vector.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;

import org.isobar.backend.cpu.parallel.ChunkedRange;
import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.backend.cpu.vector.WorkerScratch;

/**
 * Layer normalization of rows. Each row stays in cache for three passes: the mean, the variance about the mean, and the
 * result.
 *
 * @param y       (M, C)
 * @param xs      (M, C)
 * @param means   (M)
 * @param invStds (M)
 * @param gamma   (C)
 * @param beta    (C)
 * @param scratch one row per worker, used if y is not F32
 */
record NormalizedRows(FloatView y, MemorySegment xs, MemorySegment means, MemorySegment invStds, MemorySegment gamma,
    MemorySegment beta, WorkerScratch scratch) {

    /** Length C of a row. */
    int width() {
        return Lanes.count(gamma);
    }

    /** Number of rows in a chunk. */
    long chunk() {
        return Math.ceilDiv(ChunkedRange.ELEMENTS, width());
    }

    /** Returns one row of x. */
    MemorySegment x(long row) {
        return slice(xs, row * width(), (row + 1) * width());
    }

    /** Computes and stores the mean and the inverse standard deviation of a row. */
    void measure(long row, double epsilon) {
        MemorySegment x = x(row);
        float mean = mean(x);
        means.setAtIndex(ValueLayout.JAVA_FLOAT, row, mean);
        invStds.setAtIndex(ValueLayout.JAVA_FLOAT, row, (float) (1 / Math.sqrt(variance(x, mean) + epsilon)));
    }

    /** Normalizes a row whose statistics are already stored. */
    void normalize(int worker, long row) {
        long from = row * width();
        MemorySegment room = y.room(scratch.row(worker, 0), from, from + width());
        normalize(room, x(row), means.getAtIndex(ValueLayout.JAVA_FLOAT, row),
            invStds.getAtIndex(ValueLayout.JAVA_FLOAT, row));
        y.keep(room, from, from + width());
    }

    private static float mean(MemorySegment x) {
        int width = Lanes.count(x);
        FloatVector sum = FloatVector.zero(Lanes.F32);
        int i = 0;
        for (; i <= width - WIDTH; i += WIDTH) {
            sum = sum.add(load(x, i));
        }
        if (i < width) {
            sum = sum.add(load(x, i, Lanes.below(i, width)));
        }
        return Lanes.sum(sum) / width;
    }

    private static double variance(MemorySegment x, float mean) {
        int width = Lanes.count(x);
        FloatVector sum = FloatVector.zero(Lanes.F32);
        int i = 0;
        for (; i <= width - WIDTH; i += WIDTH) {
            FloatVector distance = load(x, i).sub(mean);
            sum = distance.fma(distance, sum);
        }
        if (i < width) {
            VectorMask<Float> rest = Lanes.below(i, width);
            FloatVector distance = load(x, i, rest).sub(mean, rest);
            sum = distance.fma(distance, sum);
        }
        return Lanes.sum(sum) / width;
    }

    private void normalize(MemorySegment out, MemorySegment x, float mean, float invStd) {
        int width = width();
        int i = 0;
        for (; i <= width - WIDTH; i += WIDTH) {
            FloatVector normal = load(x, i).sub(mean).mul(invStd);
            store(out, i, normal.fma(load(gamma, i), load(beta, i)));
        }
        if (i < width) {
            VectorMask<Float> rest = Lanes.below(i, width);
            FloatVector normal = load(x, i, rest).sub(mean).mul(invStd);
            store(out, i, normal.fma(load(gamma, i, rest), load(beta, i, rest)), rest);
        }
    }
}
