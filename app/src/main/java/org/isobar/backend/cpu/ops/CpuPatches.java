package org.isobar.backend.cpu.ops;

import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.device.ops.PatchShape;
import org.isobar.tensor.Tensor;

/** Images to tokens and back; one task for each row of patches of each image. */
final class CpuPatches {
    private final WorkerPool pool;

    CpuPatches(WorkerPool pool) {
        this.pool = pool;
    }

    void patchify(Tensor tokens, Tensor image, PatchShape shape) {
        move(PatchRow.Way.TO_TOKENS, tokens, image, shape);
    }

    void unpatchify(Tensor image, Tensor tokens, PatchShape shape) {
        move(PatchRow.Way.TO_IMAGE, tokens, image, shape);
    }

    private void move(PatchRow.Way way, Tensor tokens, Tensor image, PatchShape shape) {
        FloatView values = FloatView.of(tokens);
        FloatView pixels = FloatView.of(image);
        int down = Math.toIntExact(shape.height() / shape.patch());
        long sample = shape.channels() * shape.height() * shape.width();
        pool.run(Math.toIntExact(shape.batch() * down), task -> {
            long first = task / down * sample;
            new PatchRow(values.part(task * sample / down, (task + 1) * sample / down),
                pixels.part(first, first + sample), shape, task % down).move(way);
        });
    }
}
