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
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.vector.DropoutRow;
import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.backend.cpu.vector.WorkerScratch;
import org.isobar.device.ops.Dropout;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/** Operations that take one pass over memory: filling, copying, positions, the residual stream. */
final class CpuElementwise {
    private final WorkerPool pool;
    private final CpuWorkspace workspace;

    CpuElementwise(WorkerPool pool, CpuWorkspace workspace) {
        this.pool = pool;
        this.workspace = workspace;
    }

    void fill(Tensor y, double value) {
        MemorySegment ys = HostStorage.of(y);
        int bytes = y.dtype().bytes();
        ChunkedRange.run(pool, y.elements(), ChunkedRange.ELEMENTS, (from, to) -> {
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
        ChunkedRange.run(pool, y.elements(), ChunkedRange.ELEMENTS, (from, to) ->
            MemorySegment.copy(xs, from * bytes, ys, from * bytes, (to - from) * bytes));
    }

    void cast(Tensor y, Tensor x) {
        if (y.dtype() == x.dtype()) {
            copy(y, x);
            return;
        }
        FloatView ys = FloatView.of(y);
        FloatView xs = FloatView.of(x);
        ChunkedRange.run(pool, y.elements(), ChunkedRange.ELEMENTS, (from, to) -> {
            if (y.dtype() == DType.F32) {
                xs.read(slice(ys.memory(), from, to), from, to);
            } else {
                ys.keep(slice(xs.memory(), from, to), from, to);
            }
        });
    }

    /** Writes run through the output in order; each moves a row of x. */
    void transposeOuter(Tensor y, Tensor x) {
        MemorySegment ys = HostStorage.of(y);
        MemorySegment xs = HostStorage.of(x);
        long rows = x.shape().extent(0);
        long columns = x.shape().extent(1);
        long bytes = x.shape().extent(2) * y.dtype().bytes();
        ChunkedRange.run(pool, rows * columns, Math.max(1, ChunkedRange.ELEMENTS / x.shape().extent(2)), (from, to) -> {
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
        ChunkedRange.run(pool, sample, ChunkedRange.ELEMENTS, (from, to) -> {
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
        ChunkedRange.run(pool, sample, ChunkedRange.ELEMENTS, (from, to) -> {
            MemorySegment part = slice(dps, from, to);
            for (long b = 0; b < batch; b++) {
                addScaled(part, part, slice(dys, b * sample + from, b * sample + to), 1);
            }
        });
    }

    void residual(Tensor y, Tensor x, Tensor branch, Dropout dropPath) {
        MemorySegment ys = HostStorage.of(y);
        MemorySegment xs = HostStorage.of(x);
        FloatView branches = FloatView.of(branch);
        WorkerScratch scratch = WorkerScratch.of(workspace, pool, 1, branches.scratch(branches.chunk()));
        long batch = x.shape().extent(0);
        long sample = x.elements() / batch;
        ChunkedRange.run(pool, batch, sample, branches.chunk(), (worker, b, first, end) -> {
            long from = b * sample + first;
            long to = b * sample + end;
            addScaled(slice(ys, from, to), slice(xs, from, to), branches.read(scratch.row(worker, 0), from, to),
                mask(dropPath, b));
        });
    }

    void residualBackward(Tensor dBranch, Tensor dy, Dropout dropPath) {
        FloatView dBranches = FloatView.of(dBranch);
        MemorySegment dys = HostStorage.of(dy);
        WorkerScratch scratch = WorkerScratch.of(workspace, pool, 1, dBranches.scratch(dBranches.chunk()));
        long batch = dy.shape().extent(0);
        long sample = dy.elements() / batch;
        ChunkedRange.run(pool, batch, sample, dBranches.chunk(), (worker, b, first, end) -> {
            long from = b * sample + first;
            long to = b * sample + end;
            MemorySegment room = dBranches.room(scratch.row(worker, 0), from, to);
            scale(room, slice(dys, from, to), mask(dropPath, b));
            dBranches.keep(room, from, to);
        });
    }

    void dropout(Tensor y, Tensor x, Dropout dropout) {
        if (dropout.isNone()) {
            if (!y.aliases(x)) {
                copy(y, x);
            }
            return;
        }
        FloatView ys = FloatView.of(y);
        FloatView xs = FloatView.of(x);
        long width = x.shape().extent(-1);
        WorkerScratch scratch = WorkerScratch.of(workspace, pool, 1, xs.scratch(width));
        ChunkedRange.run(pool, x.shape().rows(), Math.ceilDiv(ChunkedRange.ELEMENTS, width), (worker, from, to) -> {
            DropoutRow row = new DropoutRow(dropout, x.shape());
            for (long r = from; r < to; r++) {
                MemorySegment input = xs.read(scratch.row(worker, 0), r * width, (r + 1) * width);
                MemorySegment output = ys.room(scratch.row(worker, 0), r * width, (r + 1) * width);
                row.apply(output, input, r);
                ys.keep(output, r * width, (r + 1) * width);
            }
        });
    }

    /** The mask's value for sample {@code b}. */
    static float mask(Dropout dropPath, int b) {
        if (dropPath.isNone()) {
            return 1;
        }
        long bits = Philox.bits(dropPath.key(), dropPath.globalIndex(b)) & 0xFFFFFFFFL;
        return bits < dropPath.threshold() ? 0 : dropPath.scale();
    }

    /** y = x + factor * term. */
    static void addScaled(MemorySegment y, MemorySegment x, MemorySegment term, float factor) {
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
