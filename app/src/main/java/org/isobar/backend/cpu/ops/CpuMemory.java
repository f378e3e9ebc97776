package org.isobar.backend.cpu.ops;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.slice;
import static org.isobar.backend.cpu.vector.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.FloatVector;

import org.isobar.backend.cpu.parallel.ChunkedRange;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.device.ops.MemoryOps;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/** Fill, copy and cast operations. */
record CpuMemory(WorkerPool pool) implements MemoryOps {
    @Override
    public void fill(Tensor y, double value) {
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

    @Override
    public void copy(Tensor y, Tensor x) {
        MemorySegment ys = HostStorage.of(y);
        MemorySegment xs = HostStorage.of(x);
        int bytes = y.dtype().bytes();
        ChunkedRange.run(pool, y.elements(), ChunkedRange.ELEMENTS, (from, to) ->
            MemorySegment.copy(xs, from * bytes, ys, from * bytes, (to - from) * bytes));
    }

    @Override
    public void cast(Tensor y, Tensor x) {
        if (y.dtype() == x.dtype()) {
            copy(y, x); // copies bytes: loading as floats may change the bits of NaNs
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
