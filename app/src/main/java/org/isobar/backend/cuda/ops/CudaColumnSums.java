package org.isobar.backend.cuda.ops;

import java.util.ArrayList;
import java.util.List;

import org.isobar.backend.cuda.kernels.KernelLauncher;
import org.isobar.backend.cuda.kernels.KernelVariant;
import org.isobar.backend.cuda.kernels.LoadedKernel;
import org.isobar.backend.cuda.kernels.TypedKernel;
import org.isobar.device.Footprint;
import org.isobar.tensor.Tensor;

/**
 * Gradients of biases, and the scheme of all sums over rows: blocks sum chunks of rows, and a second kernel sums the
 * chunks. The number of chunks depends on the shape alone.
 */
final class CudaColumnSums {
    /** Threads per block. */
    static final int THREADS = 256;
    /** Columns per block. */
    private static final int TILE = 256;
    private static final long FEWEST_ROWS = 32;
    private static final long MOST_CHUNKS = 256;
    private static final int FINISHING_THREADS = 1024;
    private static final int FINISHING_COLUMNS = 32;
    private static final int MOST_GRADIENTS = 3;

    private final OpResources context;
    private final TypedKernel biasBackward;
    private final LoadedKernel addPartialSums;

    CudaColumnSums(OpResources context) {
        this.context = context;
        biasBackward = new TypedKernel(context.kernels(), "bias.cu", "bias_backward");
        addPartialSums = context.kernels().kernel("partial_sums.cu", "add_partial_sums");
    }

    static List<KernelVariant> variants() {
        List<KernelVariant> variants = new ArrayList<>(TypedKernel.variants("bias.cu", "bias_backward"));
        variants.add(new KernelVariant("partial_sums.cu", "add_partial_sums", List.of()));
        return variants;
    }

    static long workspaceBytes(Footprint footprint) {
        return MOST_CHUNKS * footprint.widestRow() * Float.BYTES;
    }

    void biasBackward(Tensor dBias, Tensor dy) {
        long width = dBias.elements();
        Chunks chunks = chunks(dy.shape().rows());
        long partial = context.workspace().address(chunks.count() * width * Float.BYTES);
        context.launcher().call(biasBackward.of(dy.dtype())).int64(partial).tensor(dy).int64(dy.shape().rows())
            .int64(width).int64(chunks.rows()).launch(tiles(width), chunks.count(), 1, THREADS, 0);
        add(partial, chunks.count(), dBias);
    }

    /**
     * Adds to one, two or three gradients of equal width the sums over the chunks of their partial sums, which lie side
     * by side.
     */
    void add(long partial, long chunks, Tensor... gradients) {
        long width = gradients[0].elements();
        long columns = gradients.length * width;
        KernelLauncher launcher = context.launcher().call(addPartialSums);
        for (int i = 0; i < MOST_GRADIENTS; i++) {
            launcher.tensor(gradients[Math.min(i, gradients.length - 1)]);
        }
        launcher.int64(partial).int64(width).int64(columns).int32(chunks)
            .launch(Math.ceilDiv(columns, FINISHING_COLUMNS), FINISHING_THREADS);
    }

    /** Assignment of rows to blocks. */
    record Chunks(long rows, long count) { }

    /** Number of chunks of {@code rows} rows. */
    static Chunks chunks(long rows) {
        long most = Math.min(MOST_CHUNKS, Math.ceilDiv(rows, FEWEST_ROWS));
        long each = Math.ceilDiv(rows, most);
        return new Chunks(each, Math.ceilDiv(rows, each));
    }

    /** Number of blocks along the columns. */
    static long tiles(long width) {
        return Math.ceilDiv(width, TILE);
    }
}
