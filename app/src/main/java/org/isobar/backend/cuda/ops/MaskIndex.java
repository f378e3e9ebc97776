package org.isobar.backend.cuda.ops;

import java.util.ArrayList;
import java.util.List;

import org.isobar.backend.cuda.kernels.KernelLauncher;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.IndexSpan;
import org.isobar.tensor.Shape;

/**
 * Maps the elements of a tensor to the index space of its mask, for kernels. The global index of element (a, b, c) of
 * at most three dimensions is {@code start + a outer + b inner + c step}. Dimensions that follow each other without a
 * gap are folded into one. A tensor that is not sharded folds into a single dimension, so kernels need no division.
 *
 * @param dropout the mask
 * @param start   global index of the first element
 * @param outer   stride of the outermost dimension
 * @param inner   stride of the middle dimension
 * @param step    stride of the innermost dimension
 * @param rows    extent of the middle dimension
 * @param columns extent of the innermost dimension
 */
record MaskIndex(Dropout dropout, long start, long outer, long inner, long step, long rows, long columns) {
    private static final int MOST = 3;

    /** A run of dimensions that follow each other without a gap. */
    private record Run(long extent, long stride) { }

    /** Returns the index of a mask over samples. */
    static MaskIndex ofSamples(Dropout dropPath) {
        return dropPath.isNone() ? new MaskIndex(dropPath, 0, 0, 0, 0, 1, 1)
            : new MaskIndex(dropPath, dropPath.globalIndex(0), 0, 0, dropPath.spans().getFirst().step(), 1, 1);
    }

    /**
     * Returns the index of a mask over a tensor of the given shape.
     *
     * @throws IllegalArgumentException if more than three dimensions remain after folding
     */
    static MaskIndex of(Dropout dropout, Shape shape) {
        List<Run> runs = new ArrayList<>(); // innermost first
        long weight = 1;
        for (int dim = shape.rank() - 1; dim >= 0; dim--) {
            IndexSpan span = dropout.spans().get(dim);
            long extent = shape.extent(dim);
            long stride = span.step() * weight;
            Run last = runs.isEmpty() ? null : runs.getLast();
            if (last != null && stride == last.stride() * last.extent()) {
                runs.set(runs.size() - 1, new Run(last.extent() * extent, last.stride()));
            } else if (extent > 1) {
                runs.add(new Run(extent, stride));
            }
            weight *= span.extent();
        }
        if (runs.size() > MOST) {
            throw new IllegalArgumentException("a mask over more than three dimensions: " + dropout.spans());
        }
        while (runs.size() < MOST) {
            runs.add(new Run(1, 0));
        }
        return new MaskIndex(dropout, dropout.globalIndex(new long[shape.rank()]), runs.get(2).stride(),
            runs.get(1).stride(), runs.get(0).stride(), runs.get(1).extent(), runs.get(0).extent());
    }

    /** Passes key, stream, start, step, threshold and scale of a mask over samples. */
    KernelLauncher pass(KernelLauncher launcher) {
        return launcher.int64(dropout.key().bits()).int64(dropout.key().stream()).int64(start).int64(step)
            .int64(dropout.threshold()).float32(dropout.scale());
    }

    /** Passes rows, columns, key, stream, start, outer, inner, step, threshold and scale. */
    KernelLauncher passAll(KernelLauncher launcher) {
        return launcher.int64(rows).int64(columns).int64(dropout.key().bits()).int64(dropout.key().stream())
            .int64(start).int64(outer).int64(inner).int64(step).int64(dropout.threshold()).float32(dropout.scale());
    }
}
