package org.isobar.backend.cpu;

import static org.isobar.backend.cpu.Lanes.WIDTH;
import static org.isobar.backend.cpu.Lanes.load;
import static org.isobar.backend.cpu.Lanes.slice;
import static org.isobar.backend.cpu.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;

import org.isobar.device.Write;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/**
 * Layer normalization (Ba, Kiros, Hinton, 2016) and its gradients. A row stays in cache while it is gone over: once for
 * the mean, once for the variance about it, once for the result.
 */
final class CpuLayerNorm {
    private final WorkerPool pool;
    private final Workspace workspace;

    CpuLayerNorm(WorkerPool pool, Workspace workspace) {
        this.pool = pool;
        this.workspace = workspace;
    }

    void layerNorm(Tensor y, Tensor mean, Tensor invStd, Tensor x, Tensor gamma, Tensor beta, double epsilon) {
        MemorySegment means = HostStorage.of(mean);
        MemorySegment invStds = HostStorage.of(invStd);
        forward(y, x, gamma, beta, (part, row, base, width) -> {
            float center = rowMean(part, base, width);
            means.setAtIndex(ValueLayout.JAVA_FLOAT, row, center);
            double variance = rowVariance(part, base, width, center);
            invStds.setAtIndex(ValueLayout.JAVA_FLOAT, row, (float) (1 / Math.sqrt(variance + epsilon)));
        }, means, invStds);
    }

    void layerNormRecompute(Tensor y, Tensor x, Tensor mean, Tensor invStd, Tensor gamma, Tensor beta) {
        forward(y, x, gamma, beta, (part, row, base, width) -> { }, HostStorage.of(mean), HostStorage.of(invStd));
    }

    /** Sees to it that the statistics of a row are known. */
    @FunctionalInterface
    private interface Statistics {
        /** For row {@code row}, which begins at element {@code base} of {@code part}. */
        void prepare(MemorySegment part, long row, int base, int width);
    }

    private void forward(Tensor y, Tensor x, Tensor gamma, Tensor beta, Statistics statistics, MemorySegment means,
        MemorySegment invStds) {
        int width = Math.toIntExact(x.shape().extent(-1));
        MemorySegment ys = HostStorage.of(y);
        MemorySegment xs = HostStorage.of(x);
        MemorySegment gammas = HostStorage.of(gamma);
        MemorySegment betas = HostStorage.of(beta);
        Chunks.run(pool, x.shape().rows(), Math.ceilDiv(Chunks.ELEMENTS, width), (from, to) -> {
            MemorySegment yPart = slice(ys, from * width, to * width);
            MemorySegment xPart = slice(xs, from * width, to * width);
            for (long row = from; row < to; row++) {
                int base = (int) (row - from) * width;
                statistics.prepare(xPart, row, base, width);
                float center = means.getAtIndex(ValueLayout.JAVA_FLOAT, row);
                float scale = invStds.getAtIndex(ValueLayout.JAVA_FLOAT, row);
                normalize(yPart, xPart, base, width, center, scale, gammas, betas);
            }
        });
    }

    private static float rowMean(MemorySegment x, int base, int width) {
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

    private static float rowVariance(MemorySegment x, int base, int width, float mean) {
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

    private static void normalize(MemorySegment y, MemorySegment x, int base, int width, float mean, float invStd,
        MemorySegment gamma, MemorySegment beta) {
        int i = 0;
        for (; i <= width - WIDTH; i += WIDTH) {
            FloatVector normal = load(x, base + i).sub(mean).mul(invStd);
            store(y, base + i, normal.fma(load(gamma, i), load(beta, i)));
        }
        if (i < width) {
            VectorMask<Float> rest = Lanes.below(i, width);
            FloatVector normal = load(x, base + i, rest).sub(mean).mul(invStd);
            store(y, base + i, normal.fma(load(gamma, i, rest), load(beta, i, rest)), rest);
        }
    }

    void layerNormBackward(Tensor dx, Tensor dGamma, Tensor dBeta, Tensor dy, Tensor x, Tensor mean, Tensor invStd,
        Tensor gamma, Write write) {
        int width = Math.toIntExact(x.shape().extent(-1));
        long rows = x.shape().rows();
        long length = Math.max(Math.ceilDiv(rows, Workspace.CHUNKS), Math.ceilDiv(Chunks.ELEMENTS, width));
        int chunks = Chunks.count(rows, length);
        // For each chunk of rows, the sums for dGamma and, behind them, those for dBeta.
        MemorySegment sums = workspace.doubles(chunks, width);
        MemorySegment dxs = HostStorage.of(dx);
        MemorySegment dys = HostStorage.of(dy);
        MemorySegment xs = HostStorage.of(x);
        MemorySegment means = HostStorage.of(mean);
        MemorySegment invStds = HostStorage.of(invStd);
        MemorySegment gammas = HostStorage.of(gamma);
        Chunks.run(pool, rows, length, (from, to) -> {
            long chunk = from / length;
            var backward = new LayerNormRows(slice(dxs, from * width, to * width), slice(dys, from * width, to * width),
                slice(xs, from * width, to * width), gammas, slice(sums, 2 * chunk * width, (2 * chunk + 1) * width),
                slice(sums, (2 * chunk + 1) * width, (2 * chunk + 2) * width), write);
            backward.run(slice(means, from, to), slice(invStds, from, to));
        });
        addUp(HostStorage.of(dGamma), sums, 0, chunks);
        addUp(HostStorage.of(dBeta), sums, width, chunks);
    }

    /** Adds to {@code total} the sums of all chunks, which begin {@code offset} floats behind those of their chunk. */
    private static void addUp(MemorySegment total, MemorySegment sums, int offset, int chunks) {
        int width = Lanes.count(total);
        int i = 0;
        for (; i <= width - WIDTH; i += WIDTH) {
            FloatVector sum = FloatVector.zero(Lanes.F32);
            for (int chunk = 0; chunk < chunks; chunk++) {
                sum = sum.add(load(sums, 2 * chunk * width + offset + i));
            }
            store(total, i, load(total, i).add(sum));
        }
        if (i < width) {
            VectorMask<Float> rest = Lanes.below(i, width);
            FloatVector sum = FloatVector.zero(Lanes.F32);
            for (int chunk = 0; chunk < chunks; chunk++) {
                sum = sum.add(load(sums, 2 * chunk * width + offset + i, rest));
            }
            store(total, i, load(total, i, rest).add(sum), rest);
        }
    }
}
