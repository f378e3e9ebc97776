package org.isobar.backend.cpu.ops;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;
import static org.isobar.backend.cpu.vector.Lanes.slice;
import static org.isobar.backend.cpu.vector.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicBoolean;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

import org.isobar.backend.cpu.parallel.ChunkedRange;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/** Values brought to another scale: fields to mean 0 and deviation 1, gradients back from the loss scale. */
final class CpuScaling {
    private static final ValueLayout.OfDouble DOUBLE = ValueLayout.JAVA_DOUBLE;

    private final WorkerPool pool;

    CpuScaling(WorkerPool pool) {
        this.pool = pool;
    }

    void normalize(Tensor y, Tensor x, Tensor mean, Tensor std) {
        MemorySegment ys = HostStorage.of(y);
        MemorySegment xs = HostStorage.of(x);
        MemorySegment means = HostStorage.of(mean);
        MemorySegment stds = HostStorage.of(std);
        long channels = x.shape().extent(1);
        long planes = x.shape().extent(0) * channels;
        long plane = x.elements() / planes;
        ChunkedRange.run(pool, planes, plane, ChunkedRange.ELEMENTS, (p, from, to) -> {
            long base = p * plane;
            long channel = p % channels;
            normalize(slice(ys, base + from, base + to), slice(xs, base + from, base + to),
                means.getAtIndex(ValueLayout.JAVA_FLOAT, channel), stds.getAtIndex(ValueLayout.JAVA_FLOAT, channel));
        });
    }

    private static void normalize(MemorySegment y, MemorySegment x, float mean, float std) {
        int n = Lanes.count(y);
        int i = 0;
        for (; i <= n - WIDTH; i += WIDTH) {
            store(y, i, load(x, i).sub(mean).div(std));
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            store(y, i, load(x, i, rest).sub(mean).div(std), rest);
        }
    }

    void unscale(Tensor gradient, Tensor overflow, Tensor scale) {
        MemorySegment gradients = HostStorage.of(gradient);
        float factor = (float) (1 / HostStorage.of(scale).getAtIndex(DOUBLE, 0));
        AtomicBoolean finite = new AtomicBoolean(true);
        ChunkedRange.run(pool, gradient.elements(), ChunkedRange.ELEMENTS, (from, to) -> {
            if (!unscale(slice(gradients, from, to), factor)) {
                finite.setPlain(false); // whoever writes last writes the same
            }
        });
        if (!finite.get()) {
            HostStorage.of(overflow).setAtIndex(DOUBLE, 0, 1);
        }
    }

    /** {@code x *= factor}; whether all are finite then. */
    private static boolean unscale(MemorySegment x, float factor) {
        VectorMask<Float> finite = Lanes.F32.maskAll(true);
        int n = Lanes.count(x);
        int i = 0;
        for (; i <= n - WIDTH; i += WIDTH) {
            FloatVector scaled = load(x, i).mul(factor);
            finite = finite.and(scaled.test(VectorOperators.IS_FINITE));
            store(x, i, scaled);
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            FloatVector scaled = load(x, i, rest).mul(factor);
            finite = finite.and(scaled.test(VectorOperators.IS_FINITE)); // lanes behind the end are zero
            store(x, i, scaled, rest);
        }
        return finite.allTrue();
    }
}
