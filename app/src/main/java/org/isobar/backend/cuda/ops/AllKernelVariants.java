package org.isobar.backend.cuda.ops;

import java.util.List;
import java.util.stream.Stream;

import org.isobar.backend.cuda.kernels.KernelVariant;

/** Every variant in which a kernel may be compiled, except those for norm widths that no preset has. */
final class AllKernelVariants {
    private AllKernelVariants() { }

    /**
     * The variants that devices of this compute capability use with these options, each listed once. Those of norms are
     * left out, because they depend on the width, and those of attention with dropout, because few programs use more
     * than one or two.
     */
    static List<KernelVariant> of(int capability, CudaOptions options) {
        return with(List.of(), CudaAttention.variants(capability, options));
    }

    /** The variants of all kernels that devices of this compute capability use, each listed once. */
    static List<KernelVariant> all(int capability) {
        return with(CudaLayerNorm.variants(), CudaAttention.variants(capability));
    }

    private static List<KernelVariant> with(List<KernelVariant> norms, List<KernelVariant> attention) {
        return Stream.of(CudaMemory.variants(), CudaColumnSums.variants(), norms, CudaGelu.variants(),
            CudaResidual.variants(), CudaImages.variants(), CudaLoss.variants(), CudaUpdate.variants(), attention)
            .flatMap(List::stream).distinct().toList();
    }
}
