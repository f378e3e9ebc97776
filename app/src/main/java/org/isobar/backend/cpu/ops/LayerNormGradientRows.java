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
import org.isobar.device.ops.WriteMode;

/**
 * Gradients of layer normalization of rows. With n = (x - mean) invStd and g = dy gamma, {@code dx = invStd (g -
 * mean(g) - n mean(g n))}. dGamma is the sum of dy n, and dBeta the sum of dy.
 *
 * @param dxs     (M, C)
 * @param dys     (M, C)
 * @param xs      (M, C)
 * @param means   (M)
 * @param invStds (M)
 * @param gamma   (C)
 * @param write   whether dx is replaced or added to
 * @param scratch the rows of one run per worker, used if dys is not F32
 */
record LayerNormGradientRows(MemorySegment dxs, FloatView dys, MemorySegment xs, MemorySegment means,
    MemorySegment invStds, MemorySegment gamma, WriteMode write, WorkerScratch scratch) {

    /**
     * Processes rows {@code from} to {@code to}, and adds their parts of dGamma, followed by dBeta, to {@code sums} (2,
     * C).
     */
    void run(int worker, long from, long to, MemorySegment sums) {
        int width = Lanes.count(gamma);
        MemorySegment dx = slice(dxs, from * width, to * width);
        MemorySegment dy = dys.read(scratch.row(worker, 0), from * width, to * width);
        MemorySegment x = slice(xs, from * width, to * width);
        int rows = (int) (to - from);
        if (LayerNormCode.suits(width)) {
            LayerNormCode.gradients(new LayerNormCode.Gradients(dx.address(), dy.address(), x.address(),
                slice(means, from, to).address(), slice(invStds, from, to).address(), gamma.address(),
                slice(sums, 0, 2L * width).address()), rows, width, write == WriteMode.ADD);
        } else {
            runInJava(dx, dy, x, from, rows, sums);
        }
    }

    /** Processes rows of dx, dy and x, of which the first is number {@code from}. */
    void runInJava(MemorySegment dx, MemorySegment dy, MemorySegment x, long from, int rows, MemorySegment sums) {
        for (int row = 0; row < rows; row++) {
            row(dx, dy, x, row * Lanes.count(gamma), means.getAtIndex(ValueLayout.JAVA_FLOAT, from + row),
                invStds.getAtIndex(ValueLayout.JAVA_FLOAT, from + row), sums);
        }
    }

    private void row(MemorySegment dx, MemorySegment dy, MemorySegment x, int base, float mean, float invStd,
        MemorySegment sums) {
        int width = Lanes.count(gamma);
        FloatVector sumG = FloatVector.zero(Lanes.F32);
        FloatVector sumGn = FloatVector.zero(Lanes.F32);
        int i = 0;
        for (; i <= width - WIDTH; i += WIDTH) {
            FloatVector dOut = load(dy, base + i);
            FloatVector normal = load(x, base + i).sub(mean).mul(invStd);
            FloatVector g = dOut.mul(load(gamma, i));
            sumG = sumG.add(g);
            sumGn = g.fma(normal, sumGn);
            store(sums, i, dOut.fma(normal, load(sums, i)));
            store(sums, width + i, dOut.add(load(sums, width + i)));
        }
        if (i < width) {
            VectorMask<Float> rest = Lanes.below(i, width);
            FloatVector dOut = load(dy, base + i, rest);
            FloatVector normal = load(x, base + i, rest).sub(mean).mul(invStd);
            FloatVector g = dOut.mul(load(gamma, i, rest));
            sumG = sumG.add(g);
            sumGn = g.fma(normal, sumGn);
            store(sums, i, dOut.fma(normal, load(sums, i, rest)), rest);
            store(sums, width + i, dOut.add(load(sums, width + i, rest)), rest);
        }
        input(dx, dy, x, base, mean, invStd, Lanes.sum(sumG) / width, Lanes.sum(sumGn) / width);
    }

    private void input(MemorySegment dx, MemorySegment dy, MemorySegment x, int base, float mean, float invStd,
        float meanG, float meanGn) {
        int width = Lanes.count(gamma);
        FloatVector centers = FloatVector.broadcast(Lanes.F32, meanG);
        FloatVector slopes = FloatVector.broadcast(Lanes.F32, -meanGn);
        int i = 0;
        for (; i <= width - WIDTH; i += WIDTH) {
            FloatVector normal = load(x, base + i).sub(mean).mul(invStd);
            FloatVector g = load(dy, base + i).mul(load(gamma, i));
            FloatVector result = normal.fma(slopes, g.sub(centers)).mul(invStd);
            store(dx, base + i, write == WriteMode.ADD ? result.add(load(dx, base + i)) : result);
        }
        if (i < width) {
            VectorMask<Float> rest = Lanes.below(i, width);
            FloatVector normal = load(x, base + i, rest).sub(mean).mul(invStd);
            FloatVector g = load(dy, base + i, rest).mul(load(gamma, i, rest));
            FloatVector result = normal.fma(slopes, g.sub(centers)).mul(invStd);
            store(dx, base + i, write == WriteMode.ADD ? result.add(load(dx, base + i, rest)) : result, rest);
        }
    }
}
