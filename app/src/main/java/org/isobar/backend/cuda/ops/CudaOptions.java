package org.isobar.backend.cuda.ops;

import java.util.Map;

import org.isobar.tensor.DType;

/**
 * How the operations of a GPU are carried out; none of it changes what they compute.
 *
 * @param fusion   whether operations that follow one another share a kernel
 * @param single   what products of single-precision tensors take in
 * @param gradient how attention sums the gradient of its queries
 */
public record CudaOptions(Fusion fusion, SinglePrecision single, QueryGradient gradient) {

    /** {@code --enable_jit}. */
    public enum Fusion {
        /**
         * Residual and norm in one kernel, the gradients of GELU and of the bias before it in one kernel, norms
         * compiled for the widths at hand.
         */
        FUSED,
        /** One kernel for each operation, as eager PyTorch. */
        SEPARATE
    }

    /** How products, those of attention included, take in single-precision operands. */
    public enum SinglePrecision {
        /** Rounded to TF32: 10 bits of fraction, tensor cores. */
        TF32,
        /** As they are, without tensor cores; what {@code NVIDIA_TF32_OVERRIDE=0} asks for. */
        FULL;

        /** What the environment asks for, in the variable that NVIDIA's own libraries read. */
        public static SinglePrecision of(Map<String, String> environment) {
            return "0".equals(environment.get("NVIDIA_TF32_OVERRIDE")) ? FULL : TF32;
        }
    }

    /** The type in which products read operands of that type, for the log. */
    String operands(DType compute) {
        return switch (compute) {
            case F16 -> "fp16";
            case BF16 -> "bf16";
            default -> single == SinglePrecision.TF32 ? "TF32" : "full single precision";
        };
    }

    /** How attention's backward pass sums over the keys. */
    public enum QueryGradient {
        /** In a fixed order, in a kernel of its own: the same bits each time. */
        DETERMINISTIC,
        /** By atomic additions, with fewer products; bits differ from run to run. */
        ATOMIC
    }
}
