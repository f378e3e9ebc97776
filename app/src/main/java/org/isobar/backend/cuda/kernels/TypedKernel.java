package org.isobar.backend.cuda.kernels;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.isobar.tensor.DType;

/** A kernel that is compiled for each compute type (F32, F16, BF16), at the first use of that type. */
public final class TypedKernel {
    /** The compute types. */
    public static final List<DType> TYPES = List.of(DType.F32, DType.F16, DType.BF16);

    private final KernelProvider kernels;
    private final String file;
    private final String function;
    private final String[] defines;
    private final Map<DType, LoadedKernel> compiled = new EnumMap<>(DType.class);

    /** @param defines definitions besides the one of the type */
    public TypedKernel(KernelProvider kernels, String file, String function, String... defines) {
        this.kernels = kernels;
        this.file = file;
        this.function = function;
        this.defines = defines;
    }

    /** The kernel for tensors of the given compute type. */
    public LoadedKernel of(DType dtype) {
        LoadedKernel kernel = compiled.get(dtype);
        if (kernel == null) {
            kernel = kernels.kernel(file, function, with(define(dtype), defines));
            compiled.put(dtype, kernel);
        }
        return kernel;
    }

    /** The definition of the type: {@code TYPE=bf16_t}. */
    public static String define(DType dtype) {
        return "TYPE=" + name(dtype);
    }

    /** The name of a type in CUDA C++. */
    public static String name(DType dtype) {
        return switch (dtype) {
            case F32 -> "float";
            case F16 -> "half_t";
            case BF16 -> "bf16_t";
            case F64 -> throw new IllegalArgumentException("products are not computed in " + dtype);
        };
    }

    /** All variants that {@link #of} may use. */
    public static List<KernelVariant> variants(String file, String function, String... defines) {
        List<KernelVariant> variants = new ArrayList<>();
        for (DType dtype : TYPES) {
            variants.add(new KernelVariant(file, function, List.of(with(define(dtype), defines))));
        }
        return variants;
    }

    private static String[] with(String define, String... defines) {
        return Stream.concat(Stream.of(define), Arrays.stream(defines)).toArray(String[]::new);
    }
}
