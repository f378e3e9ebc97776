package org.isobar.backend.cuda.kernels;

import static org.bytedeco.cuda.global.cudart.CUDA_ERROR_INVALID_IMAGE;
import static org.bytedeco.cuda.global.cudart.CUDA_ERROR_NO_BINARY_FOR_GPU;
import static org.bytedeco.cuda.global.cudart.cuModuleGetFunction;
import static org.bytedeco.cuda.global.cudart.cuModuleLoadData;
import static org.bytedeco.cuda.global.cudart.cuModuleUnload;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

import org.bytedeco.cuda.cudart.CUfunc_st;
import org.bytedeco.cuda.cudart.CUmod_st;
import org.bytedeco.javacpp.BytePointer;
import org.isobar.backend.cuda.driver.Cuda;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.driver.Gpu;

/**
 * The kernels of one device. A kernel comes from memory, from the disk cache, or from the compiler. Used by the thread
 * that issues the operations; other threads may compile ahead of it.
 */
public final class KernelLoader implements KernelProvider, AutoCloseable {
    /** A file with its definitions: its functions are compiled and loaded together. */
    private record Unit(String file, List<String> defines) { }

    /** Seconds in which the compilation of one file has ended. */
    private static final int LONGEST_COMPILATION = 60;

    private final Gpu gpu;
    private final KernelCache cache;
    private final Map<KernelVariant, LoadedKernel> kernels = new HashMap<>();
    private final Map<Unit, CUmod_st> modules = new HashMap<>();
    private final Optional<KernelCompiler> compiler = KernelCompiler.find(); // for kernels that the cache lacks
    private final Optional<String> identity = compiler.map(KernelCompiler::identity);
    private final Map<Unit, FutureTask<Optional<byte[]>>> ahead = new HashMap<>();
    private final ExecutorService threads = Executors.newFixedThreadPool(
        Math.max(1, Runtime.getRuntime().availableProcessors() / 2),
        Thread.ofPlatform().daemon().name("kernels-", 0).factory());

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
    public int sharedBytes() {
        return gpu.sharedBytes();
    }

    @Override
    public int multiprocessors() {
        return gpu.multiprocessors();
    }

    /**
     * Starts to compile, on half as many threads as there are processors, what the cache lacks of these variants. A
     * kernel that is asked for meanwhile is compiled at once, or waited for if a thread compiles it. Called once.
     */
    public void compileAhead(Collection<KernelVariant> variants) {
        variants.stream().map(KernelLoader::unit).distinct().forEach(unit -> {
            FutureTask<Optional<byte[]>> task = new FutureTask<>(() -> compileIfAbsent(unit));
            ahead.put(unit, task);
            threads.execute(task);
        });
    }

    private static Unit unit(KernelVariant variant) {
        return new Unit(variant.file(), variant.defines());
    }

    private LoadedKernel load(KernelVariant variant) {
        Unit unit = unit(variant);
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
        Optional<byte[]> compiled = ahead(unit);
        Optional<CUmod_st> cached = compiled.isPresent() ? Optional.empty() : cached(unit).flatMap(KernelLoader::load);
        return cached.orElseGet(() -> load(compiled.orElseGet(() -> compile(unit)))
            .orElseThrow(() -> new CudaException("the device refuses " + unit.file() + " " + unit.defines()
                + ", compiled for compute capability " + gpu.capability())));
    }

    /** What has been compiled ahead. If no thread has begun with it yet, this one does. */
    private Optional<byte[]> ahead(Unit unit) {
        FutureTask<Optional<byte[]>> task = ahead.remove(unit);
        if (task == null) {
            return Optional.empty();
        }
        task.run();
        try {
            return task.get();
        } catch (ExecutionException failure) {
            throw failure.getCause() instanceof RuntimeException known ? known
                : new IllegalStateException(failure.getCause());
        } catch (InterruptedException interruption) {
            Thread.currentThread().interrupt();
            throw new CudaException("interrupted while " + unit.file() + " was compiled");
        }
    }

    private Optional<byte[]> compileIfAbsent(Unit unit) {
        return compiler.isEmpty() || cached(unit).isPresent() ? Optional.empty() : Optional.of(compile(unit));
    }

    private Optional<byte[]> cached(Unit unit) {
        return cache.read(KernelCache.key(KernelSource.load(unit.file()), options(unit)), identity);
    }

    /** Compiles a unit and writes it to the cache. */
    private byte[] compile(Unit unit) {
        KernelSource source = KernelSource.load(unit.file());
        KernelCompiler present = compiler.orElseGet(KernelCompiler::new); // throws without NVRTC
        byte[] image = present.compile(source, options(unit)).image();
        identity.ifPresent(by -> cache.write(KernelCache.key(source, options(unit)), by, image));
        return image;
    }

    private List<String> options(Unit unit) {
        return KernelCompiler.options(gpu.capability(), unit.defines());
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

    /** Ends the threads that compile. What has not been begun is left out. */
    private void stopCompiling() {
        ahead.values().forEach(task -> task.cancel(false));
        threads.shutdown();
        try {
            threads.awaitTermination(LONGEST_COMPILATION, TimeUnit.SECONDS);
            ahead.clear();
        } catch (InterruptedException interruption) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        stopCompiling();
        modules.values().forEach(module -> cuModuleUnload(module)); // returns an error after a device failure; ignored
        modules.clear();
        kernels.clear();
    }
}
