package org.isobar.backend.cuda.ops;

import java.util.List;
import java.util.stream.Stream;

import org.isobar.backend.cuda.kernels.KernelVariant;

/** Every way in which a kernel may be compiled, but for widths of norms that no preset has. */
final class AllKernelVariants {
    private AllKernelVariants() { }

    /** Of all kernels, each variant once. */
    static List<KernelVariant> all() {
        return Stream.of(CudaMemory.variants(), CudaColumnSums.variants(), CudaLayerNorm.variants(),
            CudaGelu.variants(), CudaResidual.variants(), CudaImages.variants(), CudaLoss.variants(),
            CudaUpdate.variants(), CudaAttention.variants()).flatMap(List::stream).distinct().toList();
    }
}
