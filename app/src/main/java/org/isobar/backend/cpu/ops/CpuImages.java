package org.isobar.backend.cpu.ops;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;
import static org.isobar.backend.cpu.vector.Lanes.slice;
import static org.isobar.backend.cpu.vector.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.VectorMask;

import org.isobar.backend.cpu.parallel.ChunkedRange;
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.backend.cpu.vector.WorkerScratch;
import org.isobar.device.ops.ImageOps;
import org.isobar.device.ops.PatchShape;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/**
 * Patchify and unpatchify, position embeddings and normalization of images. Patchify runs one task per row of patches
 * of each image.
 */
record CpuImages(WorkerPool pool, CpuWorkspace workspace) implements ImageOps {
    @Override
    public void patchify(Tensor tokens, Tensor image, PatchShape shape) {
        move(PatchRow.Way.TO_TOKENS, tokens, image, shape);
    }

    @Override
    public void unpatchify(Tensor image, Tensor tokens, PatchShape shape) {
        move(PatchRow.Way.TO_IMAGE, tokens, image, shape);
    }

    private void move(PatchRow.Way way, Tensor tokens, Tensor image, PatchShape shape) {
        FloatView values = FloatView.of(tokens);
        FloatView pixels = FloatView.of(image);
        int down = Math.toIntExact(shape.height() / shape.patch());
        long sample = shape.channels() * shape.height() * shape.width();
        WorkerScratch scratch = WorkerScratch.of(workspace, pool, 1,
            values.scratch(Math.max(shape.width(), shape.patch() * shape.channels())));
        pool.run(Math.toIntExact(shape.batch() * down), (worker, task) -> {
            long first = task / down * sample;
            new PatchRow(values.part(task * sample / down, (task + 1) * sample / down),
                pixels.part(first, first + sample), shape, task % down, scratch.row(worker, 0)).move(way);
        });
    }

    /** Adds one chunk of positions to every sample while the chunk is in cache. */
    @Override
    public void addPositions(Tensor y, Tensor x, Tensor positions) {
        MemorySegment ys = HostStorage.of(y);
        MemorySegment xs = HostStorage.of(x);
        MemorySegment ps = HostStorage.of(positions);
        long sample = positions.elements();
        long batch = x.elements() / sample;
        ChunkedRange.run(pool, sample, ChunkedRange.ELEMENTS, (from, to) -> {
            MemorySegment part = slice(ps, from, to);
            for (long b = 0; b < batch; b++) {
                long base = b * sample;
                CpuResidual.addScaled(slice(ys, base + from, base + to), slice(xs, base + from, base + to), part, 1);
            }
        });
    }

    @Override
    public void addPositionsBackward(Tensor dPositions, Tensor dy) {
        MemorySegment dps = HostStorage.of(dPositions);
        MemorySegment dys = HostStorage.of(dy);
        long sample = dPositions.elements();
        long batch = dy.elements() / sample;
        ChunkedRange.run(pool, sample, ChunkedRange.ELEMENTS, (from, to) -> {
            MemorySegment part = slice(dps, from, to);
            for (long b = 0; b < batch; b++) {
                CpuResidual.addScaled(part, part, slice(dys, b * sample + from, b * sample + to), 1);
            }
        });
    }

    @Override
    public void normalize(Tensor y, Tensor x, Tensor mean, Tensor std) {
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
}
