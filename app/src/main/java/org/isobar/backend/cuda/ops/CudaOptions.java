package org.isobar.backend.cuda.ops;

import java.util.Map;

import org.isobar.tensor.DType;

/**
 * Options of how the operations of a GPU are carried out; no option changes what is computed.
 *
 * @param fusion   whether consecutive operations share a kernel
 * @param single   how matrix products read single-precision operands
 * @param gradient how attention sums the gradient of its queries
 */
public record CudaOptions(Fusion fusion, SinglePrecision single, QueryGradient gradient) {

    /** Fusion of operations: {@code --enable_jit}. */
    public enum Fusion {
        /**
         * Residual sum and norm run in one kernel, the gradients of GELU and of the preceding bias run in one kernel,
         * and norms are compiled for the widths at hand.
         */
        FUSED,
        /** One kernel for each operation, as in eager PyTorch. */
        SEPARATE
    }

    /** How matrix products, including those of attention, read single-precision operands. */
    public enum SinglePrecision {
        /** Rounded to TF32 (10 bits of fraction), on tensor cores. */
        TF32,
        /** Unrounded, without tensor cores; selected by {@code NVIDIA_TF32_OVERRIDE=0}. */
        FULL;

        /** Returns what the environment selects, in the variable that NVIDIA's own libraries read. */
        public static SinglePrecision of(Map<String, String> environment) {
            return "0".equals(environment.get("NVIDIA_TF32_OVERRIDE")) ? FULL : TF32;
        }
    }

    /** Returns the type in which products read operands of the given type, for the log. */
    String operands(DType compute) {
        return switch (compute) {
            case F16 -> "fp16";
            case BF16 -> "bf16";
            default -> single == SinglePrecision.TF32 ? "TF32" : "full single precision";
        };
    }

    /** How attention's backward pass sums the gradient of the queries over the keys. */
    public enum QueryGradient {
        /** In a fixed order, in a separate kernel: the same bits in every run. */
        DETERMINISTIC,
        /** By atomic additions, with fewer products; bits differ from run to run. */
        ATOMIC
    }
}
