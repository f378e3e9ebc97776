package org.isobar.backend.cuda.ops;

import static org.bytedeco.cuda.global.cudart.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
import static org.bytedeco.cuda.global.cudart.cuFuncSetAttribute;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.isobar.backend.cuda.driver.Cuda;
import org.isobar.backend.cuda.kernels.KernelProvider;
import org.isobar.backend.cuda.kernels.KernelVariant;
import org.isobar.backend.cuda.kernels.LoadedKernel;
import org.isobar.backend.cuda.kernels.TypedKernel;
import org.isobar.backend.cuda.ops.AttentionTiling.Masking;
import org.isobar.backend.cuda.ops.AttentionTiling.Pass;
import org.isobar.backend.cuda.ops.CudaOptions.QueryGradient;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.tensor.DType;

/** The tiled kernels of attention: which variants exist, how each is compiled and how much shared memory it needs. */
final class AttentionKernels {
    /** The head sizes (channels per head) that tiled kernels exist for. */
    static final List<Integer> HEAD_DIMS = List.of(32, 48, 64, 80, 96, 128);

    /** Dynamic shared memory, in bytes, that a kernel may use without opting in to more. */
    private static final int GRANTED_BYTES = 48 << 10;
    /** Bytes of lse and delta of one query, in single precision. */
    private static final int STATISTICS_BYTES = 8;

    /** Channels of the heads for which {@code attention_backward_shared.cu} is the ordered kernel. */
    private static final int SHARED_HEAD_DIM = 128;

    /** Bytes of the block's ticket, rounded up. */
    private static final int TICKET_BYTES = 16;

    /** One variant in which such a kernel is compiled. */
    record Variant(Pass pass, DType dtype, SinglePrecision single, int headDim, Masking masking,
        AttentionTiling tiling) {
        /** The variant that devices of this compute capability use. */
        static Variant of(int capability, Pass pass, DType dtype, SinglePrecision single, int headDim,
            Masking masking) {
            return new Variant(pass, dtype, single, headDim, masking, isFull(dtype, single)
                ? AttentionTiling.withoutTensorCores(capability, pass, headDim)
                : AttentionTiling.of(capability, pass, dtype.bytes(), headDim, masking));
        }

        private static boolean isFull(DType dtype, SinglePrecision single) {
            return dtype == DType.F32 && single == SinglePrecision.FULL;
        }

        /**
         * Whether the one ordered kernel divides each product among the warps anew, with weights and slopes in shared
         * memory. Its parts need a multiple of 64 channels, and heads of 64 are faster in two kernels.
         */
        private boolean isShared() {
            return pass == Pass.BACKWARD_KEYS_ORDERED && dtype.bytes() == 2 && headDim == SHARED_HEAD_DIM
                && masking == Masking.NONE;
        }

        /** Dynamic shared memory: the block's own tiles, two stages of two streamed tiles, and the kernel's extras. */
        int sharedBytes() {
            int own = pass == Pass.FORWARD ? 1 : 2;
            int tiles = (own * tiling.rows() + 4 * tiling.columns()) * headDim * dtype.bytes();
            int slopes = tiling.rows() * tiling.columns() * dtype.bytes();
            return switch (pass) {
                case FORWARD, BACKWARD_QUERIES -> tiles;
                case BACKWARD_KEYS -> tiles + 2 * tiling.columns() * STATISTICS_BYTES;
                case BACKWARD_KEYS_ATOMIC -> tiles + 2 * tiling.columns() * STATISTICS_BYTES + slopes;
                case BACKWARD_KEYS_ORDERED -> tiles + 2 * tiling.columns() * STATISTICS_BYTES
                    + (isShared() ? 2 : 1) * slopes + TICKET_BYTES;
            };
        }

        KernelVariant kernel() {
            List<String> defines = new ArrayList<>(List.of(TypedKernel.define(dtype), "HEAD_DIM=" + headDim,
                "DROPOUT=" + masking.ordinal()));
            defines.addAll(tiling.defines());
            if (isFull(dtype, single)) {
                defines.add("FULL");
            }
            String function = switch (pass) {
                case FORWARD -> "attention_forward";
                case BACKWARD_QUERIES -> "attention_backward_queries";
                case BACKWARD_KEYS, BACKWARD_KEYS_ATOMIC -> "attention_backward_keys";
                case BACKWARD_KEYS_ORDERED -> isShared() ? "attention_backward_shared" : "attention_backward_keys";
            };
            if (pass == Pass.BACKWARD_KEYS_ATOMIC) {
                defines.add("ATOMIC=1");
            }
            if (pass == Pass.BACKWARD_KEYS_ORDERED) {
                defines.add("ORDERED=1");
            }
            return new KernelVariant(function + ".cu", function, defines);
        }
    }

    private final KernelProvider kernels;
    private final Map<Variant, LoadedKernel> loaded = new HashMap<>();

    AttentionKernels(KernelProvider kernels) {
        this.kernels = kernels;
    }

    /** Returns the kernel, ready to be launched with the dynamic shared memory that it needs. */
    LoadedKernel of(Variant variant) {
        return loaded.computeIfAbsent(variant, this::load);
    }

    private LoadedKernel load(Variant variant) {
        KernelVariant source = variant.kernel();
        LoadedKernel kernel = kernels.kernel(source.file(), source.function(), source.defines().toArray(String[]::new));
        grant(kernel, variant.sharedBytes());
        return kernel;
    }

    /** Allows a kernel to be launched with the given amount of dynamic shared memory. */
    static void grant(LoadedKernel kernel, int sharedBytes) {
        if (sharedBytes > GRANTED_BYTES) {
            Cuda.check(cuFuncSetAttribute(kernel.function(), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                sharedBytes), "cuFuncSetAttribute of " + kernel.name());
        }
    }

    /** The kernel that sums the gradients of keys and values, and, unless it is the first of two, of the queries. */
    static Pass keysPass(int capability, QueryGradient gradient, DType dtype, SinglePrecision single, int headDim,
        Masking masking) {
        if (gradient == QueryGradient.ATOMIC) {
            return Pass.BACKWARD_KEYS_ATOMIC;
        }
        return isOrdered(capability, dtype, single, headDim, masking) ? Pass.BACKWARD_KEYS_ORDERED : Pass.BACKWARD_KEYS;
    }

    /** Whether a kernel sums the gradient of the queries in workspace: in that type, with or without dropout. */
    static boolean sumsQueries(int capability, CudaOptions options, DType dtype, int headDim) {
        return Stream.of(Masking.values()).anyMatch(masking -> keysPass(capability, options.gradient(), dtype,
            options.single(), headDim, masking) != Pass.BACKWARD_KEYS);
    }

    private static boolean isOrdered(int capability, DType dtype, SinglePrecision single, int headDim,
        Masking masking) {
        return !Variant.isFull(dtype, single)
            && AttentionTiling.isOrdered(capability, dtype.bytes(), headDim, masking);
    }

    /** The variants that devices of this compute capability use with these options, without dropout. */
    static List<Variant> variants(int capability, CudaOptions options) {
        return variants(capability).stream().filter(variant -> variant.masking() == Masking.NONE)
            .filter(variant -> isUsed(variant, capability, options)).toList();
    }

    private static boolean isUsed(Variant variant, int capability, CudaOptions options) {
        Pass keys = keysPass(capability, options.gradient(), variant.dtype(), variant.single(), variant.headDim(),
            variant.masking());
        return (variant.dtype() != DType.F32 || variant.single() == options.single()) && switch (variant.pass()) {
            case FORWARD -> true;
            case BACKWARD_QUERIES -> keys == Pass.BACKWARD_KEYS;
            default -> variant.pass() == keys;
        };
    }

    /** Every variant that devices of this compute capability use. */
    static List<Variant> variants(int capability) {
        List<Variant> variants = new ArrayList<>();
        for (DType dtype : TypedKernel.TYPES) {
            for (SinglePrecision single : SinglePrecision.values()) {
                for (int headDim : HEAD_DIMS) {
                    for (Masking masking : Masking.values()) {
                        for (Pass pass : Pass.values()) {
                            if ((dtype == DType.F32 || single == SinglePrecision.TF32)
                                && (pass != Pass.BACKWARD_KEYS_ORDERED
                                    || isOrdered(capability, dtype, single, headDim, masking))) {
                                variants.add(Variant.of(capability, pass, dtype, single, headDim, masking));
                            }
                        }
                    }
                }
            }
        }
        return variants;
    }
}
