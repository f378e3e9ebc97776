package org.isobar.backend.cpu.ops;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;
import static org.isobar.backend.cpu.vector.Lanes.slice;
import static org.isobar.backend.cpu.vector.Lanes.store;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;

import org.isobar.backend.cpu.generated.ArrayCode;
import org.isobar.backend.cpu.parallel.ChunkedRange;
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.vector.DropoutRow;
import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.backend.cpu.vector.WorkerScratch;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.MemoryOps;
import org.isobar.device.ops.ResidualOps;
import org.isobar.random.Philox;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/** Residual additions with drop path, and dropout, each in one pass over memory. */
record CpuResidual(WorkerPool pool, CpuWorkspace workspace, MemoryOps memory) implements ResidualOps {
    @Override
    public void residual(Tensor y, Tensor x, Tensor branch, Dropout dropPath) {
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

    @Override
    public void residualBackward(Tensor dBranch, Tensor dy, Dropout dropPath) {
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

    @Override
    public void dropout(Tensor y, Tensor x, Dropout dropout) {
        if (dropout.isNone()) {
            if (!y.aliases(x)) {
                memory.copy(y, x);
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

    /** Returns the value of the drop-path mask for sample {@code b}. */
    static float mask(Dropout dropPath, int b) {
        if (dropPath.isNone()) {
            return 1;
        }
        long bits = Philox.bits(dropPath.key(), dropPath.globalIndex(b)) & 0xFFFFFFFFL;
        return bits < dropPath.threshold() ? 0 : dropPath.scale();
    }

    /** y = x + factor * term. */
    static void addScaled(MemorySegment y, MemorySegment x, MemorySegment term, float factor) {
        addScaled(y, x, term, factor, ArrayCode.addScaled(y, x, term, factor));
    }

    /** Computes the elements from {@code first} on. */
    static void addScaled(MemorySegment y, MemorySegment x, MemorySegment term, float factor, int first) {
        FloatVector factors = FloatVector.broadcast(Lanes.F32, factor);
        int n = Lanes.count(y);
        int i = first;
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
        scale(y, x, factor, ArrayCode.scale(y, x, factor));
    }

    /** Computes the elements from {@code first} on. */
    static void scale(MemorySegment y, MemorySegment x, float factor, int first) {
        int n = Lanes.count(y);
        int i = first;
        for (; i <= n - WIDTH; i += WIDTH) {
            store(y, i, load(x, i).mul(factor));
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            store(y, i, load(x, i, rest).mul(factor), rest);
        }
    }
}
