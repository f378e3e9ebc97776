package org.isobar.backend.cuda.ops;

import java.util.List;
import java.util.stream.Stream;

import org.isobar.backend.cuda.kernels.ElementGrid;
import org.isobar.backend.cuda.kernels.KernelVariant;
import org.isobar.backend.cuda.kernels.TypedKernel;
import org.isobar.backend.cuda.ops.CudaColumnSums.Chunks;
import org.isobar.backend.cuda.ops.CudaOptions.Fusion;
import org.isobar.tensor.Tensor;

/** GELU, and its gradient together with that of the preceding bias. In forward, cuBLASLt has already added the bias. */
final class CudaGelu {
    private static final String FILE = "gelu.cu";

    private final OpResources context;
    private final CudaColumnSums columnSums;
    private final TypedKernel gelu;
    private final TypedKernel geluBackward;
    private final TypedKernel biasGeluBackward;

    CudaGelu(OpResources context, CudaColumnSums columnSums) {
        this.context = context;
        this.columnSums = columnSums;
        gelu = new TypedKernel(context.kernels(), FILE, "gelu");
        geluBackward = new TypedKernel(context.kernels(), FILE, "gelu_backward");
        biasGeluBackward = new TypedKernel(context.kernels(), FILE, "bias_gelu_backward");
    }

    static List<KernelVariant> variants() {
        return Stream.of("gelu", "gelu_backward", "bias_gelu_backward")
            .flatMap(function -> TypedKernel.variants(FILE, function).stream()).toList();
    }

    /** Describes in words which kernels run. */
    String description() {
        return "GELU: its gradient and that of the bias before it in " + (isFused() ? "one kernel" : "a kernel each");
    }

    private boolean isFused() {
        return context.options().fusion() == Fusion.FUSED;
    }

    /** Computes {@code y = GELU(x)}. */
    void forward(Tensor y, Tensor x) {
        context.launcher().call(gelu.of(x.dtype())).tensor(y).tensor(x).int64(x.elements())
            .launch(ElementGrid.blocks(x.elements()), ElementGrid.THREADS);
    }

    /**
     * See {@link org.isobar.device.ops.ProductOps#biasGeluBackward}. One fused pass and two passes give the same bits.
     */
    void backward(Tensor dx, Tensor y, Tensor dBias, Tensor dy, Tensor x) {
        if (isFused()) {
            inOnePass(dx, y, dBias, dy, x);
        } else {
            context.launcher().call(geluBackward.of(x.dtype())).tensor(dx).tensor(y).tensor(dy).tensor(x)
                .int64(x.elements()).launch(ElementGrid.blocks(x.elements()), ElementGrid.THREADS);
            columnSums.biasBackward(dBias, dx);
        }
    }

    private void inOnePass(Tensor dx, Tensor y, Tensor dBias, Tensor dy, Tensor x) {
        long rows = x.shape().rows();
        long width = dBias.elements();
        Chunks chunks = CudaColumnSums.chunks(rows);
        long partial = context.workspace().address(chunks.count() * width * Float.BYTES);
        context.launcher().call(biasGeluBackward.of(x.dtype())).int64(partial).tensor(dx).tensor(y).tensor(dy)
            .tensor(x).int64(rows).int64(width).int64(chunks.rows())
            .launch(CudaColumnSums.tiles(width), chunks.count(), 1, CudaColumnSums.THREADS, 0);
        columnSums.add(partial, chunks.count(), dBias);
    }
}
