package org.isobar.backend.cuda;

import static org.bytedeco.cuda.global.cudart.cuModuleGetFunction;
import static org.bytedeco.cuda.global.cudart.cuModuleLoadData;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

import org.bytedeco.cuda.cudart.CUfunc_st;
import org.bytedeco.cuda.cudart.CUmod_st;
import org.bytedeco.javacpp.BytePointer;

/** Kernels whose sources a test has changed: of those that it has not, the library's. */
final class SourceKernels implements Kernels {
    private final Kernels library;
    private final int capability;
    private final UnaryOperator<KernelSource> change;
    private final Map<KernelVariant, Kernel> changed = new HashMap<>();

    SourceKernels(Kernels library, int capability, UnaryOperator<KernelSource> change) {
        this.library = library;
        this.capability = capability;
        this.change = change;
    }

    @Override
    public Kernel kernel(String file, String function, String... defines) {
        KernelSource source = KernelSource.load(file);
        KernelSource other = change.apply(source);
        return other.equals(source) ? library.kernel(file, function, defines)
            : changed.computeIfAbsent(new KernelVariant(file, function, List.of(defines)), v -> compile(v, other));
    }

    /** One, so that small tensors, too, are gone over in strides. */
    @Override
    public int multiprocessors() {
        return 1;
    }

    private Kernel compile(KernelVariant variant, KernelSource source) {
        List<String> options = KernelCompiler.options(capability, variant.defines());
        CUmod_st module = new CUmod_st();
        try (BytePointer image = new BytePointer(new KernelCompiler().compile(source, options).image())) {
            Cuda.check(cuModuleLoadData(module, image), "cuModuleLoadData");
        }
        CUfunc_st function = new CUfunc_st();
        Cuda.check(cuModuleGetFunction(function, module, variant.function()), "cuModuleGetFunction");
        return new Kernel("changed " + variant, function);
    }
}
