package org.isobar.backend.cpu.ops;

import static org.isobar.backend.cpu.vector.Lanes.slice;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.parallel.ChunkedRange;
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.vector.Bfloat16;
import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.backend.cpu.vector.WorkerScratch;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** GELU and its gradient: F32 is computed by {@link VectorGelu}, BF16 looked up in {@link GeluTable}. */
record CpuGelu(WorkerPool pool, CpuWorkspace workspace) {
    /** {@code dx = dy GELU'(x)}, {@code y = GELU(x)}; {@code dx} may be {@code dy}, and {@code y} may be {@code x}. */
    void backward(Tensor dx, Tensor y, Tensor dy, Tensor x) {
        FloatView dxs = FloatView.of(dx);
        FloatView ys = FloatView.of(y);
        FloatView dys = FloatView.of(dy);
        FloatView xs = FloatView.of(x);
        WorkerScratch scratch = WorkerScratch.of(workspace, pool, 1, xs.scratch(xs.chunk()));
        ChunkedRange.run(pool, x.elements(), xs.chunk(), (worker, from, to) -> {
            if (xs.dtype() == DType.F32) {
                VectorGelu.backward(dxs.elements(from, to), ys.elements(from, to), dys.elements(from, to),
                    xs.elements(from, to));
            } else {
                MemorySegment slopes = slice(scratch.row(worker, 0), 0, to - from);
                GeluTable.forward(ys.elements(from, to), slopes, xs.elements(from, to));
                Bfloat16.multiply(dxs.elements(from, to), dys.elements(from, to), slopes);
            }
        });
    }

    /** Computes {@code y = GELU(x)} on elements {@code from} to {@code to}, on the calling thread. */
    static void forward(FloatView y, FloatView x, long from, long to) {
        if (x.dtype() == DType.F32) {
            VectorGelu.forward(y.elements(from, to), x.elements(from, to));
        } else {
            GeluTable.forward(y.elements(from, to), x.elements(from, to));
        }
    }
}
