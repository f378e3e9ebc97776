package org.isobar.backend.cpu.ops;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;
import static org.isobar.backend.cpu.vector.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;

import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.device.ops.WriteMode;

/**
 * Gradients of layer normalization over one chunk of rows. With n = (x - mean) invStd and g = dy gamma, {@code dx =
 * invStd (g - mean(g) - n mean(g n))}. dGamma is the sum of dy n, and dBeta the sum of dy.
 *
 * @param dx      the chunk's rows
 * @param dys     all rows
 * @param x       the chunk's rows
 * @param gamma   (C)
 * @param dGamma  (C), partial sums of this chunk, overwritten
 * @param dBeta   (C), partial sums of this chunk, overwritten
 * @param write   whether dx is replaced or added to
 * @param scratch one row, used if dys is not F32
 */
record LayerNormGradientRows(MemorySegment dx, FloatView dys, MemorySegment x, MemorySegment gamma,
    MemorySegment dGamma,
    MemorySegment dBeta, WriteMode write, MemorySegment scratch) {

    /**
     * Processes the chunk's rows, given their statistics. {@code first} is the index of the first one among all rows.
     */
    void run(long first, MemorySegment means, MemorySegment invStds) {
        dGamma.fill((byte) 0);
        dBeta.fill((byte) 0);
        int width = Lanes.count(gamma);
        int rows = Lanes.count(means);
        for (int row = 0; row < rows; row++) {
            float mean = means.getAtIndex(ValueLayout.JAVA_FLOAT, row);
            MemorySegment dy = dys.read(scratch, (first + row) * width, (first + row + 1) * width);
            row(dy, row * width, width, mean, invStds.getAtIndex(ValueLayout.JAVA_FLOAT, row));
        }
    }

    private void row(MemorySegment dy, int base, int width, float mean, float invStd) {
        FloatVector sumG = FloatVector.zero(Lanes.F32);
        FloatVector sumGn = FloatVector.zero(Lanes.F32);
        int i = 0;
        for (; i <= width - WIDTH; i += WIDTH) {
            FloatVector dOut = load(dy, i);
            FloatVector normal = load(x, base + i).sub(mean).mul(invStd);
            FloatVector g = dOut.mul(load(gamma, i));
            sumG = sumG.add(g);
            sumGn = g.fma(normal, sumGn);
            store(dGamma, i, dOut.fma(normal, load(dGamma, i)));
            store(dBeta, i, dOut.add(load(dBeta, i)));
        }
        if (i < width) {
            VectorMask<Float> rest = Lanes.below(i, width);
            FloatVector dOut = load(dy, i, rest);
            FloatVector normal = load(x, base + i, rest).sub(mean).mul(invStd);
            FloatVector g = dOut.mul(load(gamma, i, rest));
            sumG = sumG.add(g);
            sumGn = g.fma(normal, sumGn);
            store(dGamma, i, dOut.fma(normal, load(dGamma, i, rest)), rest);
            store(dBeta, i, dOut.add(load(dBeta, i, rest)), rest);
        }
        input(dy, base, width, mean, invStd, Lanes.sum(sumG) / width, Lanes.sum(sumGn) / width);
    }

    private void input(MemorySegment dy, int base, int width, float mean, float invStd, float meanG,
        float meanGn) {
        FloatVector centers = FloatVector.broadcast(Lanes.F32, meanG);
        FloatVector slopes = FloatVector.broadcast(Lanes.F32, -meanGn);
        int i = 0;
        for (; i <= width - WIDTH; i += WIDTH) {
            FloatVector normal = load(x, base + i).sub(mean).mul(invStd);
            FloatVector g = load(dy, i).mul(load(gamma, i));
            FloatVector result = normal.fma(slopes, g.sub(centers)).mul(invStd);
            store(dx, base + i, write == WriteMode.ADD ? result.add(load(dx, base + i)) : result);
        }
        if (i < width) {
            VectorMask<Float> rest = Lanes.below(i, width);
            FloatVector normal = load(x, base + i, rest).sub(mean).mul(invStd);
            FloatVector g = load(dy, i, rest).mul(load(gamma, i, rest));
            FloatVector result = normal.fma(slopes, g.sub(centers)).mul(invStd);
            store(dx, base + i, write == WriteMode.ADD ? result.add(load(dx, base + i, rest)) : result, rest);
        }
    }
}
