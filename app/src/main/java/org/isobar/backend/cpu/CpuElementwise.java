package org.isobar.backend.cpu;

import static org.isobar.backend.cpu.Lanes.WIDTH;
import static org.isobar.backend.cpu.Lanes.load;
import static org.isobar.backend.cpu.Lanes.slice;
import static org.isobar.backend.cpu.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;

import org.isobar.device.Dropout;
import org.isobar.random.Philox;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/** Operations that take one pass over memory: filling, copying, positions, the residual stream. */
final class CpuElementwise {
    private final WorkerPool pool;

    CpuElementwise(WorkerPool pool) {
        this.pool = pool;
    }

    void fill(Tensor y, double value) {
        MemorySegment ys = HostStorage.of(y);
        int bytes = y.dtype().bytes();
        Chunks.run(pool, y.elements(), Chunks.ELEMENTS, (from, to) -> {
            MemorySegment part = ys.asSlice(from * bytes, (to - from) * bytes);
            if (Double.doubleToRawLongBits(value) == 0) {
                part.fill((byte) 0);
            } else {
                switch (y.dtype()) {
                    case F16, BF16 -> fillHalf(part, (short) y.dtype().bits(value));
                    case F32 -> fillF32(part, (float) value);
                    default -> fillF64(part, value);
                }
            }
        });
    }

    void copy(Tensor y, Tensor x) {
        MemorySegment ys = HostStorage.of(y);
        MemorySegment xs = HostStorage.of(x);
        int bytes = y.dtype().bytes();
        Chunks.run(pool, y.elements(), Chunks.ELEMENTS, (from, to) ->
            MemorySegment.copy(xs, from * bytes, ys, from * bytes, (to - from) * bytes));
    }

    /** Writes run through the output in order; each moves a row of x. */
    void transposeOuter(Tensor y, Tensor x) {
        MemorySegment ys = HostStorage.of(y);
        MemorySegment xs = HostStorage.of(x);
        long rows = x.shape().extent(0);
        long columns = x.shape().extent(1);
        long bytes = x.shape().extent(2) * y.dtype().bytes();
        Chunks.run(pool, rows * columns, Math.max(1, Chunks.ELEMENTS / x.shape().extent(2)), (from, to) -> {
            for (long place = from; place < to; place++) {
                long source = place % rows * columns + place / rows;
                MemorySegment.copy(xs, source * bytes, ys, place * bytes, bytes);
            }
        });
    }

    /** One chunk of positions stays in cache while it is added to each sample. */
    void addPositions(Tensor y, Tensor x, Tensor positions) {
        MemorySegment ys = HostStorage.of(y);
        MemorySegment xs = HostStorage.of(x);
        MemorySegment ps = HostStorage.of(positions);
        long sample = positions.elements();
        long batch = x.elements() / sample;
        Chunks.run(pool, sample, Chunks.ELEMENTS, (from, to) -> {
            MemorySegment part = slice(ps, from, to);
            for (long b = 0; b < batch; b++) {
                long base = b * sample;
                addScaled(slice(ys, base + from, base + to), slice(xs, base + from, base + to), part, 1);
            }
        });
    }

    void addPositionsBackward(Tensor dPositions, Tensor dy) {
        MemorySegment dps = HostStorage.of(dPositions);
        MemorySegment dys = HostStorage.of(dy);
        long sample = dPositions.elements();
        long batch = dy.elements() / sample;
        Chunks.run(pool, sample, Chunks.ELEMENTS, (from, to) -> {
            MemorySegment part = slice(dps, from, to);
            for (long b = 0; b < batch; b++) {
                addScaled(part, part, slice(dys, b * sample + from, b * sample + to), 1);
            }
        });
    }

    void residual(Tensor y, Tensor x, Tensor branch, Dropout dropPath) {
        MemorySegment ys = HostStorage.of(y);
        MemorySegment xs = HostStorage.of(x);
        MemorySegment branches = HostStorage.of(branch);
        long batch = x.shape().extent(0);
        long sample = x.elements() / batch;
        Chunks.run(pool, batch, sample, Chunks.ELEMENTS, (b, from, to) -> {
            long base = b * sample;
            addScaled(slice(ys, base + from, base + to), slice(xs, base + from, base + to),
                slice(branches, base + from, base + to), mask(dropPath, b));
        });
    }

    void residualBackward(Tensor dBranch, Tensor dy, Dropout dropPath) {
        MemorySegment dBranches = HostStorage.of(dBranch);
        MemorySegment dys = HostStorage.of(dy);
        long batch = dy.shape().extent(0);
        long sample = dy.elements() / batch;
        Chunks.run(pool, batch, sample, Chunks.ELEMENTS, (b, from, to) -> {
            long base = b * sample;
            scale(slice(dBranches, base + from, base + to), slice(dys, base + from, base + to), mask(dropPath, b));
        });
    }

    void dropout(Tensor y, Tensor x, Dropout dropout) {
        if (dropout.isNone()) {
            if (!y.aliases(x)) {
                copy(y, x);
            }
            return;
        }
        MemorySegment ys = HostStorage.of(y);
        MemorySegment xs = HostStorage.of(x);
        long width = x.shape().extent(-1);
        Chunks.run(pool, x.shape().rows(), Math.ceilDiv(Chunks.ELEMENTS, width), (from, to) -> {
            DropoutRow row = new DropoutRow(dropout, x.shape());
            for (long r = from; r < to; r++) {
                row.apply(slice(ys, r * width, (r + 1) * width), slice(xs, r * width, (r + 1) * width), r);
            }
        });
    }

    /** The mask's value for sample {@code b}. */
    private static float mask(Dropout dropPath, int b) {
        if (dropPath.isNone()) {
            return 1;
        }
        long bits = Philox.bits(dropPath.key(), dropPath.globalIndex(b)) & 0xFFFFFFFFL;
        return bits < dropPath.threshold() ? 0 : dropPath.scale();
    }

    /** y = x + factor * term. */
    private static void addScaled(MemorySegment y, MemorySegment x, MemorySegment term, float factor) {
        FloatVector factors = FloatVector.broadcast(Lanes.F32, factor);
        int n = Lanes.count(y);
        int i = 0;
        for (; i <= n - WIDTH; i += WIDTH) {
            store(y, i, load(term, i).fma(factors, load(x, i)));
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            store(y, i, load(term, i, rest).fma(factors, load(x, i, rest)), rest);
        }
    }

    /** y = factor * x. */
    private static void scale(MemorySegment y, MemorySegment x, float factor) {
        int n = Lanes.count(y);
        int i = 0;
        for (; i <= n - WIDTH; i += WIDTH) {
            store(y, i, load(x, i).mul(factor));
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            store(y, i, load(x, i, rest).mul(factor), rest);
        }
    }

    private static void fillF32(MemorySegment y, float value) {
        FloatVector values = FloatVector.broadcast(Lanes.F32, value);
        int n = Lanes.count(y);
        int i = 0;
        for (; i <= n - WIDTH; i += WIDTH) {
            store(y, i, values);
        }
        if (i < n) {
            store(y, i, values, Lanes.below(i, n));
        }
    }

    private static void fillHalf(MemorySegment y, short bits) {
        long n = y.byteSize() / Short.BYTES;
        for (long i = 0; i < n; i++) {
            y.setAtIndex(ValueLayout.JAVA_SHORT, i, bits);
        }
    }

    private static void fillF64(MemorySegment y, double value) {
        long n = y.byteSize() / Double.BYTES;
        for (long i = 0; i < n; i++) {
            y.setAtIndex(ValueLayout.JAVA_DOUBLE, i, value);
        }
    }
}
