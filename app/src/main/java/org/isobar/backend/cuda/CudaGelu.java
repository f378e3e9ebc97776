package org.isobar.backend.cuda;

import java.util.List;
import java.util.stream.Stream;

import org.isobar.tensor.Tensor;

/** The activation, alone and behind a bias. */
final class CudaGelu {
    private static final String FILE = "gelu.cu";

    private final CudaContext context;
    private final TypedKernel gelu;
    private final TypedKernel biasGelu;
    private final TypedKernel geluBackward;

    CudaGelu(CudaContext context) {
        this.context = context;
        gelu = new TypedKernel(context.kernels(), FILE, "gelu");
        biasGelu = new TypedKernel(context.kernels(), FILE, "bias_gelu");
        geluBackward = new TypedKernel(context.kernels(), FILE, "gelu_backward");
    }

    static List<KernelVariant> variants() {
        return Stream.of("gelu", "bias_gelu", "gelu_backward")
            .flatMap(function -> TypedKernel.variants(FILE, function).stream()).toList();
    }

    void gelu(Tensor y, Tensor x) {
        context.launcher().call(gelu.of(x.dtype())).tensor(y).tensor(x).int64(x.elements())
            .launch(ElementGrid.blocks(x.elements()), ElementGrid.THREADS);
    }

    /**
     * {@code preActivation += bias}, {@code y = GELU(preActivation)}; all of one type.
     *
     * @param y             (M, N)
     * @param preActivation (M, N), on entry without bias
     * @param bias          (N)
     */
    void biasGelu(Tensor y, Tensor preActivation, Tensor bias) {
        context.launcher().call(biasGelu.of(y.dtype())).tensor(y).tensor(preActivation).tensor(bias)
            .int64(y.elements()).int64(bias.elements())
            .launch(ElementGrid.blocks(y.elements()), ElementGrid.THREADS);
    }

    void geluBackward(Tensor dx, Tensor y, Tensor dy, Tensor x) {
        context.launcher().call(geluBackward.of(x.dtype())).tensor(dx).tensor(y).tensor(dy).tensor(x)
            .int64(x.elements()).launch(ElementGrid.blocks(x.elements()), ElementGrid.THREADS);
    }
}
