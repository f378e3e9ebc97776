package org.isobar.backend.cuda.kernels;

import static org.bytedeco.cuda.global.cudart.CUDA_ERROR_INVALID_IMAGE;
import static org.bytedeco.cuda.global.cudart.CUDA_ERROR_NO_BINARY_FOR_GPU;
import static org.bytedeco.cuda.global.cudart.cuModuleGetFunction;
import static org.bytedeco.cuda.global.cudart.cuModuleLoadData;
import static org.bytedeco.cuda.global.cudart.cuModuleUnload;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.bytedeco.cuda.cudart.CUfunc_st;
import org.bytedeco.cuda.cudart.CUmod_st;
import org.bytedeco.javacpp.BytePointer;
import org.isobar.backend.cuda.driver.Cuda;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.driver.Gpu;

/**
 * The kernels of one device. A kernel comes from memory, from the disk cache, or from the compiler. Used by the thread
 * that issues the operations.
 */
public final class KernelLoader implements KernelProvider, AutoCloseable {
    /** A file with its definitions: its functions are compiled and loaded together. */
    private record Unit(String file, List<String> defines) { }

    private final Gpu gpu;
    private final KernelCache cache;
    private final Map<KernelVariant, LoadedKernel> kernels = new HashMap<>();
    private final Map<Unit, CUmod_st> modules = new HashMap<>();
    private final Optional<KernelCompiler> compiler = KernelCompiler.find(); // for kernels that the cache lacks
    private final Optional<String> identity = compiler.map(KernelCompiler::identity);

    public KernelLoader(Gpu gpu, KernelCache cache) {
        this.gpu = gpu;
        this.cache = cache;
    }

    @Override
    public LoadedKernel kernel(String file, String function, String... defines) {
        KernelVariant variant = new KernelVariant(file, function, List.of(defines));
        LoadedKernel kernel = kernels.get(variant);
        if (kernel == null) {
            kernel = load(variant);
            kernels.put(variant, kernel);
        }
        return kernel;
    }

    @Override
    public int capability() {
        return gpu.capability();
    }

    @Override
    public int multiprocessors() {
        return gpu.multiprocessors();
    }

    private LoadedKernel load(KernelVariant variant) {
        Unit unit = new Unit(variant.file(), variant.defines());
        CUmod_st module = modules.get(unit);
        if (module == null) {
            module = load(unit);
            modules.put(unit, module);
        }
        String name = variant.function() + " of " + variant.file() + " " + variant.defines();
        CUfunc_st function = new CUfunc_st();
        Cuda.check(cuModuleGetFunction(function, module, variant.function()), "cuModuleGetFunction: " + name);
        return new LoadedKernel(name, function);
    }

    private CUmod_st load(Unit unit) {
        KernelSource source = KernelSource.load(unit.file());
        List<String> options = KernelCompiler.options(gpu.capability(), unit.defines());
        String key = KernelCache.key(source, options);
        Optional<CUmod_st> cached = cache.read(key, identity).flatMap(KernelLoader::load);
        if (cached.isPresent()) {
            return cached.get();
        }
        byte[] image = compiler.orElseGet(KernelCompiler::new).compile(source, options).image(); // throws without NVRTC
        identity.ifPresent(by -> cache.write(key, by, image));
        return load(image).orElseThrow(() -> new CudaException("the device refuses " + unit.file() + " "
            + unit.defines() + ", compiled for compute capability " + gpu.capability()));
    }

    /** Empty if this image is not code for the device. */
    private static Optional<CUmod_st> load(byte[] image) {
        CUmod_st module = new CUmod_st();
        try (BytePointer bytes = new BytePointer(image)) {
            int result = cuModuleLoadData(module, bytes);
            if (result == CUDA_ERROR_INVALID_IMAGE || result == CUDA_ERROR_NO_BINARY_FOR_GPU) {
                return Optional.empty();
            }
            Cuda.check(result, "cuModuleLoadData");
            return Optional.of(module);
        }
    }

    @Override
    public void close() {
        modules.values().forEach(module -> cuModuleUnload(module)); // returns an error after a device failure; ignored
        modules.clear();
        kernels.clear();
    }
}
