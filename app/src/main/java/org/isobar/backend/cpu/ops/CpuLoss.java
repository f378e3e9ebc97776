package org.isobar.backend.cpu.ops;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;
import static org.isobar.backend.cpu.vector.Lanes.slice;
import static org.isobar.backend.cpu.vector.Lanes.store;
import static org.isobar.backend.cpu.vector.Lanes.widen;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;

import org.isobar.backend.cpu.generated.ArrayCode;
import org.isobar.backend.cpu.generated.LossCode;
import org.isobar.backend.cpu.parallel.ChunkedRange;
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.device.Footprint;
import org.isobar.device.LatitudeWeights;
import org.isobar.device.ops.LossOps;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/** The relative L2 loss, its gradient, and the latitude-weighted RMSE. Differences and sums are computed in double. */
final class CpuLoss implements LossOps {
    private static final ValueLayout.OfDouble DOUBLE = ValueLayout.JAVA_DOUBLE;
    private static final int WIDE = Lanes.F64.length();

    private final WorkerPool pool;
    private final CpuWorkspace workspace;

    CpuLoss(WorkerPool pool, CpuWorkspace workspace) {
        this.pool = pool;
        this.workspace = workspace;
    }

    /**
     * Bytes for partial sums. Image sums need two doubles per chunk, with at most one partial chunk per sample; the
     * RMSE needs one double per field.
     */
    static long workspaceBytes(Footprint footprint) {
        long chunks = 2 * ChunkedRange.count(footprint.largestImages(), ChunkedRange.ELEMENTS) + CpuWorkspace.CHUNKS;
        return Math.max(2 * chunks, footprint.imagePlanes()) * Double.BYTES;
    }

    @Override
    public void relativeL2Loss(Tensor loss, Tensor norms, long first, Tensor prediction, Tensor target) {
        MemorySegment predictions = HostStorage.of(prediction);
        MemorySegment targets = HostStorage.of(target);
        int batch = Math.toIntExact(prediction.shape().extent(0));
        long sample = prediction.elements() / batch;
        int chunks = ChunkedRange.count(sample, ChunkedRange.ELEMENTS);
        MemorySegment sums = workspace.doubles(batch * chunks, 2);
        ChunkedRange.run(pool, batch, sample, ChunkedRange.ELEMENTS, (b, from, to) -> {
            long base = b * sample;
            MemorySegment targetPart = slice(targets, base + from, base + to);
            long at = 2 * (b * chunks + from / ChunkedRange.ELEMENTS);
            sums.setAtIndex(DOUBLE, at, squaredDistance(slice(predictions, base + from, base + to), targetPart));
            sums.setAtIndex(DOUBLE, at + 1, squaredNorm(targetPart));
        });
        MemorySegment norm = HostStorage.of(norms);
        for (int b = 0; b < batch; b++) {
            double distance = 0;
            double size = 0;
            for (long chunk = (long) b * chunks; chunk < (b + 1L) * chunks; chunk++) {
                distance += sums.getAtIndex(DOUBLE, 2 * chunk);
                size += sums.getAtIndex(DOUBLE, 2 * chunk + 1);
            }
            norm.setAtIndex(DOUBLE, 2 * (first + b), Math.sqrt(distance));
            norm.setAtIndex(DOUBLE, 2 * (first + b) + 1, Math.sqrt(size));
        }
        double total = 0;
        for (long b = 0; b < first + batch; b++) {
            total += norm.getAtIndex(DOUBLE, 2 * b) / norm.getAtIndex(DOUBLE, 2 * b + 1);
        }
        HostStorage.of(loss).setAtIndex(DOUBLE, 0, total / (first + batch));
    }

    @Override
    public void relativeL2LossBackward(Tensor dPrediction, Tensor prediction, Tensor target, Tensor norms, long first,
        Tensor scale) {
        MemorySegment gradients = HostStorage.of(dPrediction);
        MemorySegment predictions = HostStorage.of(prediction);
        MemorySegment targets = HostStorage.of(target);
        MemorySegment norm = HostStorage.of(norms);
        long batch = prediction.shape().extent(0);
        long sample = prediction.elements() / batch;
        long samples = norms.shape().extent(0);
        double lossScale = HostStorage.of(scale).getAtIndex(ValueLayout.JAVA_DOUBLE, 0);
        ChunkedRange.run(pool, batch, sample, ChunkedRange.ELEMENTS, (b, from, to) -> {
            double distance = norm.getAtIndex(DOUBLE, 2 * (first + b));
            double size = norm.getAtIndex(DOUBLE, 2 * (first + b) + 1);
            float factor = distance == 0 ? 0 : (float) (lossScale / samples / (distance * size));
            long base = b * sample;
            scaledDifference(slice(gradients, base + from, base + to), slice(predictions, base + from, base + to),
                slice(targets, base + from, base + to), factor);
        });
    }

    @Override
    public void weightedRmse(Tensor rmse, Tensor prediction, Tensor target) {
        MemorySegment predictions = HostStorage.of(prediction);
        MemorySegment targets = HostStorage.of(target);
        int batch = Math.toIntExact(prediction.shape().extent(0));
        int channels = Math.toIntExact(prediction.shape().extent(1));
        int height = Math.toIntExact(prediction.shape().extent(2));
        int width = Math.toIntExact(prediction.shape().extent(3));
        long field = (long) height * width;
        double[] weights = LatitudeWeights.of(height);
        MemorySegment errors = workspace.doubles(batch, channels); // per sample and channel
        pool.run(batch * channels, task -> {
            double sum = 0;
            for (int j = 0; j < height; j++) {
                long row = task * field + (long) j * width;
                sum += weights[j]
                    * squaredDistance(slice(predictions, row, row + width), slice(targets, row, row + width));
            }
            errors.setAtIndex(DOUBLE, task, Math.sqrt(sum / field));
        });
        MemorySegment result = HostStorage.of(rmse);
        for (int c = 0; c < channels; c++) {
            double sum = 0;
            for (int b = 0; b < batch; b++) {
                sum += errors.getAtIndex(DOUBLE, (long) b * channels + c);
            }
            result.setAtIndex(DOUBLE, c, sum / batch);
        }
    }

    /** Returns the sum of (x - y)^2. */
    private static double squaredDistance(MemorySegment x, MemorySegment y) {
        return squaredDistance(x, y, LossCode.summed(x), LossCode.squaredDistance(x, y));
    }

    /** Returns {@code start} plus the sum of (x - y)^2 from element {@code first} on. */
    static double squaredDistance(MemorySegment x, MemorySegment y, int first, double start) {
        DoubleVector sums = DoubleVector.zero(Lanes.F64);
        int n = Lanes.count(x);
        int i = first;
        for (; i <= n - WIDE; i += WIDE) {
            DoubleVector difference = widen(x, i).sub(widen(y, i));
            sums = difference.fma(difference, sums);
        }
        double sum = start + Lanes.sum(sums);
        for (; i < n; i++) {
            double difference = Lanes.scalar(x, i) - Lanes.scalar(y, i);
            sum += difference * difference;
        }
        return sum;
    }

    /** Returns the sum of x^2. */
    private static double squaredNorm(MemorySegment x) {
        return squaredNorm(x, LossCode.summed(x), LossCode.squaredNorm(x));
    }

    /** Returns {@code start} plus the sum of x^2 from element {@code first} on. */
    static double squaredNorm(MemorySegment x, int first, double start) {
        DoubleVector sums = DoubleVector.zero(Lanes.F64);
        int n = Lanes.count(x);
        int i = first;
        for (; i <= n - WIDE; i += WIDE) {
            DoubleVector value = widen(x, i);
            sums = value.fma(value, sums);
        }
        double sum = start + Lanes.sum(sums);
        for (; i < n; i++) {
            sum += Lanes.scalar(x, i) * Lanes.scalar(x, i);
        }
        return sum;
    }

    /** z = factor (x - y). */
    private static void scaledDifference(MemorySegment z, MemorySegment x, MemorySegment y, float factor) {
        scaledDifference(z, x, y, factor, ArrayCode.scaledDifference(z, x, y, factor));
    }

    /** Computes the elements from {@code first} on. */
    static void scaledDifference(MemorySegment z, MemorySegment x, MemorySegment y, float factor, int first) {
        int n = Lanes.count(z);
        int i = first;
        for (; i <= n - WIDTH; i += WIDTH) {
            store(z, i, load(x, i).sub(load(y, i)).mul(factor));
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            FloatVector difference = load(x, i, rest).sub(load(y, i, rest));
            store(z, i, difference.mul(factor), rest);
        }
    }
}
