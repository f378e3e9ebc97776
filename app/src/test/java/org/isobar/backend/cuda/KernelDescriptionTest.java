package org.isobar.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;

import org.isobar.backend.cuda.ops.CudaOptions;
import org.isobar.backend.cuda.ops.CudaOptions.Fusion;
import org.isobar.backend.cuda.ops.CudaOptions.QueryGradient;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.device.Footprint;
import org.isobar.device.ops.AttentionShape;
import org.isobar.tensor.DType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The log names the kernels that the options and the footprint select. */
@Tag("cuda")
class KernelDescriptionTest {
    @Test
    void fusedKernelsInHalfPrecision() {
        List<String> lines = lines(Fusion.FUSED, SinglePrecision.TF32, QueryGradient.DETERMINISTIC, DType.BF16,
            Set.of(384L), 48);
        assertEquals(4, lines.size(), lines::toString);
        assertTrue(lines.get(0).matches("products: cuBLASLt [\\d.]+ in bf16, which adds biases"), lines.get(0));
        assertEquals("GELU: its gradient and that of the bias before it in one kernel", lines.get(1));
        assertEquals("norms of 384 channels: with the residual in one kernel, all gradients in one, compiled for "
            + "that width", lines.get(2));
        assertEquals("attention of heads of 48: bf16 on tensor cores, tiles of 128 x 64 forward, 128 x 128 backward, "
            + "gradient of queries in the order of tickets", lines.get(3));
    }

    @Test
    void separateKernelsInFullSinglePrecision() {
        List<String> lines = lines(Fusion.SEPARATE, SinglePrecision.FULL, QueryGradient.ATOMIC, DType.F32,
            Set.of(48L), 128);
        assertTrue(lines.get(0).endsWith(" in full single precision, which adds biases"), lines.get(0));
        assertEquals("GELU: its gradient and that of the bias before it in a kernel each", lines.get(1));
        assertEquals("norms of 48 channels: residual, norm, gradients of input and of weights in a kernel each, for "
            + "any width", lines.get(2));
        assertEquals("attention of heads of 128: full single precision, tiles of 32 x 16 forward, 32 x 16 backward, "
            + "gradient of queries by atomic additions", lines.get(3));
    }

    /** Widths that no kernel is compiled for, and head sizes without a tiled kernel. */
    @Test
    void whatHasNoKernelOfItsOwnIsSaid() {
        List<String> lines = lines(Fusion.FUSED, SinglePrecision.TF32, QueryGradient.DETERMINISTIC, DType.F32,
            Set.of(50L, 2048L, 1024L), 12);
        assertTrue(lines.get(0).endsWith(" in TF32, which adds biases"), lines.get(0));
        assertEquals(List.of(false, true, false), lines.subList(2, 5).stream()
            .map(line -> line.endsWith("compiled for that width")).toList(), lines::toString);
        assertEquals(
            "attention of heads of 12: plain kernels in single precision, because no tiled kernel has this size",
            lines.get(5));
    }

    private static List<String> lines(Fusion fusion, SinglePrecision single, QueryGradient gradient, DType compute,
        Set<Long> normWidths, int headDim) {
        AttentionShape shape = new AttentionShape(2, 8, 128, 128, headDim);
        CudaOptions options = new CudaOptions(fusion, single, gradient);
        try (CudaDevice device = new CudaDevice(0, options, System.getenv(), line -> { })) {
            return device.kernels(new Footprint(1, 1, 1, 1, normWidths, Set.of(shape), Set.of(), Set.of()), compute);
        }
    }
}
