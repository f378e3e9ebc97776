package org.isobar.backend.cuda.ops;

import java.util.ArrayList;
import java.util.List;

import org.isobar.backend.cuda.kernels.ElementGrid;
import org.isobar.backend.cuda.kernels.KernelProvider;
import org.isobar.backend.cuda.kernels.KernelVariant;
import org.isobar.backend.cuda.kernels.LoadedKernel;
import org.isobar.backend.cuda.kernels.TypedKernel;
import org.isobar.device.ops.AdamConstants;
import org.isobar.device.ops.LossScaling;
import org.isobar.device.ops.UpdateOps;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** The optimizer over flat ranges: unscales gradients, decides whether the step is skipped, and runs Adam. */
final class CudaUpdate implements UpdateOps {
    /** Enough to fill a multiprocessor; each block computes Adam's factors once. */
    private static final int BLOCKS_OF_MULTIPROCESSOR = 8;

    private final OpResources context;
    private final LoadedKernel unscale;
    private final LoadedKernel advance;
    private final LoadedKernel adam;
    private final TypedKernel adamWithCopy;

    CudaUpdate(OpResources context) {
        this.context = context;
        KernelProvider kernels = context.kernels();
        unscale = kernels.kernel("scaling.cu", "unscale");
        advance = kernels.kernel("scaling.cu", "advance");
        adam = kernels.kernel("adam.cu", "adam");
        adamWithCopy = new TypedKernel(kernels, "adam.cu", "adam", "COPY");
    }

    static List<KernelVariant> variants() {
        List<KernelVariant> variants = new ArrayList<>();
        variants.add(new KernelVariant("scaling.cu", "unscale", List.of()));
        variants.add(new KernelVariant("scaling.cu", "advance", List.of()));
        variants.add(new KernelVariant("adam.cu", "adam", List.of()));
        variants.addAll(TypedKernel.variants("adam.cu", "adam", "COPY"));
        return variants;
    }

    @Override
    public void unscale(Tensor gradient, Tensor overflow, Tensor scale, double divisor) {
        context.launcher().call(unscale).tensor(gradient).tensor(overflow).tensor(scale).float64(divisor)
            .int64(gradient.elements()).launch(ElementGrid.blocks(gradient.elements()), ElementGrid.THREADS);
    }

    @Override
    public void advance(Tensor control, Tensor loss, LossScaling scaling) {
        context.launcher().call(advance).tensor(control).tensor(loss).float64(scaling.growth())
            .float64(scaling.backoff()).float64(scaling.interval()).launch(1, 1);
    }

    @Override
    public void adam(Tensor parameter, Tensor copy, Tensor gradient, Tensor moment1, Tensor moment2, Tensor control,
        AdamConstants constants) {
        DType dtype = copy.dtype();
        LoadedKernel kernel = copy.aliases(parameter) ? adam : adamWithCopy.of(dtype);
        long most = (long) BLOCKS_OF_MULTIPROCESSOR * context.kernels().multiprocessors();
        context.launcher().call(kernel).tensor(parameter).tensor(copy).tensor(gradient).tensor(moment1)
            .tensor(moment2).tensor(control).int64(parameter.elements()).float64(constants.beta1())
            .float64(constants.beta2()).float32(constants.epsilon()).float32(1 / constants.divisor())
            .launch(Math.min(most, ElementGrid.blocks(parameter.elements())), ElementGrid.THREADS);
    }
}
