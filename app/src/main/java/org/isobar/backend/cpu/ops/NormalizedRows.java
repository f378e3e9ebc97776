package org.isobar.backend.cpu.ops;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;
import static org.isobar.backend.cpu.vector.Lanes.slice;
import static org.isobar.backend.cpu.vector.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;

import org.isobar.backend.cpu.generated.LayerNormCode;
import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.backend.cpu.vector.WorkerScratch;

/**
 * Layer normalization of rows. Rows stay in cache for three passes: the mean, the variance about the mean, and the
 * result.
 *
 * @param y       (M, C)
 * @param xs      (M, C)
 * @param means   (M)
 * @param invStds (M)
 * @param gamma   (C)
 * @param beta    (C)
 * @param scratch one chunk of rows per worker, used if y is not F32
 */
record NormalizedRows(FloatView y, MemorySegment xs, MemorySegment means, MemorySegment invStds, MemorySegment gamma,
    MemorySegment beta, WorkerScratch scratch) {

    /** Length C of a row. */
    int width() {
        return Lanes.count(gamma);
    }

    /** Number of rows in a chunk, which fits in the cache. */
    long chunk() {
        return Math.max(1, y.chunk() / width());
    }

    /** Returns rows {@code from} to {@code to} of x. */
    MemorySegment x(long from, long to) {
        return slice(xs, from * width(), to * width());
    }

    /** Computes and stores the mean and the inverse standard deviation of rows {@code from} to {@code to}. */
    void measure(long from, long to, double epsilon) {
        if (isNative()) {
            LayerNormCode.measure(x(from, to).address(), (int) (to - from), width(),
                slice(means, from, to).address(), slice(invStds, from, to).address());
        } else {
            measureInJava(from, to);
        }
        for (long row = from; row < to; row++) {
            double variance = invStds.getAtIndex(ValueLayout.JAVA_FLOAT, row);
            invStds.setAtIndex(ValueLayout.JAVA_FLOAT, row, (float) (1 / Math.sqrt(variance + epsilon)));
        }
    }

    private boolean isNative() {
        return LayerNormCode.suits(width());
    }

    /** Computes the mean of each row and, in place of the inverse standard deviation, the variance. */
    void measureInJava(long from, long to) {
        MemorySegment x = x(from, to);
        int width = width();
        int rows = (int) (to - from);
        for (int row = 0; row < rows; row++) {
            float mean = mean(x, row * width, width);
            means.setAtIndex(ValueLayout.JAVA_FLOAT, from + row, mean);
            invStds.setAtIndex(ValueLayout.JAVA_FLOAT, from + row, variance(x, row * width, width, mean));
        }
    }

    /** Normalizes rows {@code from} to {@code to}, whose statistics are already stored. */
    void normalize(int worker, long from, long to) {
        MemorySegment x = x(from, to);
        long width = width();
        MemorySegment room = y.room(scratch.row(worker, 0), from * width, to * width);
        if (isNative()) {
            LayerNormCode.normalize(room.address(), x.address(), (int) (to - from), width(),
                slice(means, from, to).address(), slice(invStds, from, to).address(), gamma.address(),
                slice(beta, 0, width).address());
        } else {
            normalizeInJava(room, x, from, (int) (to - from));
        }
        y.keep(room, from * width, to * width);
    }

    /** Normalizes rows of x, of which the first is number {@code from}, to {@code room}. */
    void normalizeInJava(MemorySegment room, MemorySegment x, long from, int rows) {
        for (int row = 0; row < rows; row++) {
            row(room, x, row * width(), means.getAtIndex(ValueLayout.JAVA_FLOAT, from + row),
                invStds.getAtIndex(ValueLayout.JAVA_FLOAT, from + row));
        }
    }

    private static float mean(MemorySegment x, int base, int width) {
        FloatVector sum = FloatVector.zero(Lanes.F32);
        int i = 0;
        for (; i <= width - WIDTH; i += WIDTH) {
            sum = sum.add(load(x, base + i));
        }
        if (i < width) {
            sum = sum.add(load(x, base + i, Lanes.below(i, width)));
        }
        return Lanes.sum(sum) / width;
    }

    private static float variance(MemorySegment x, int base, int width, float mean) {
        FloatVector sum = FloatVector.zero(Lanes.F32);
        int i = 0;
        for (; i <= width - WIDTH; i += WIDTH) {
            FloatVector distance = load(x, base + i).sub(mean);
            sum = distance.fma(distance, sum);
        }
        if (i < width) {
            VectorMask<Float> rest = Lanes.below(i, width);
            FloatVector distance = load(x, base + i, rest).sub(mean, rest);
            sum = distance.fma(distance, sum);
        }
        return Lanes.sum(sum) / width;
    }

    private void row(MemorySegment out, MemorySegment x, int base, float mean, float invStd) {
        int width = width();
        int i = 0;
        for (; i <= width - WIDTH; i += WIDTH) {
            FloatVector normal = load(x, base + i).sub(mean).mul(invStd);
            store(out, base + i, normal.fma(load(gamma, i), load(beta, i)));
        }
        if (i < width) {
            VectorMask<Float> rest = Lanes.below(i, width);
            FloatVector normal = load(x, base + i, rest).sub(mean).mul(invStd);
            store(out, base + i, normal.fma(load(gamma, i, rest), load(beta, i, rest)), rest);
        }
    }
}
