package org.isobar.backend.cuda.driver;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

import org.bytedeco.cuda.global.cublas;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.cuda.global.nccl;
import org.bytedeco.cuda.global.nvrtc;
import org.bytedeco.javacpp.Loader;
import org.isobar.fault.UserException;
import org.isobar.os.NativeCache;

/**
 * Loads the CUDA libraries that are installed on this machine, and the JavaCPP bindings to them. The bindings use a
 * library that is already loaded under its name, whatever other copy JavaCPP finds; so this class loads the libraries
 * first.
 */
public final class CudaLibraries {
    private CudaLibraries() { }

    /**
     * Loads what each run on a GPU needs: the driver, the runtime, cuBLASLt and their bindings.
     *
     * @throws UserException if one is missing
     */
    public static void load() {
        require(CudaComponent.DRIVER);
        require(CudaComponent.RUNTIME);
        require(CudaComponent.CUBLAS_LT);
        require(CudaComponent.CUBLAS);
        bind(cudart.class);
        bind(cublas.class);
    }

    /**
     * Loads NCCL and its bindings.
     *
     * @throws UserException if it is missing
     */
    public static void loadNccl() {
        require(CudaComponent.NCCL);
        NcclDefaults.set();
        bind(nccl.class);
    }

    /**
     * Loads NVRTC: the redistributable library if it is on the class path, else the installed one.
     *
     * @throws UserException if there is no NVRTC
     */
    public static void loadCompiler() {
        if (nvrtc.class.getResource("/org/bytedeco/cuda/" + Loader.getPlatform() + "/"
            + CudaComponent.NVRTC.fileName()) == null) {
            require(CudaComponent.NVRTC);
            loadBuiltins();
        }
        bind(nvrtc.class);
    }

    /**
     * Loads NVRTC's second library, libnvrtc-builtins. NVRTC opens it by its bare name at the first compilation, which
     * fails if the loader does not search the directory of NVRTC.
     */
    private static void loadBuiltins() {
        LibrarySearch.find(CudaComponent.NVRTC.fileName()).ifPresent(compiler -> compiler
            .file(CudaComponent.NVRTC.function()).flatMap(file -> CudaComponent.NVRTC.version(compiler)
                .map(version -> file.resolveSibling("libnvrtc-builtins.so." + version)))
            .filter(Files::isReadable).ifPresent(file -> SystemLibrary.open(file.toString())));
    }

    /** cuDNN, which needs no bindings; empty if it is not installed. The environment may name its directory. */
    public static Optional<SystemLibrary> cudnn(Map<String, String> environment) {
        return LibrarySearch.findCudnn(environment);
    }

    private static void require(CudaComponent component) {
        if (LibrarySearch.find(component.fileName()).isEmpty()) {
            throw new UserException(LibrarySearch.inspect(component).problem() + "; " + component.remedy());
        }
    }

    private static void bind(Class<?> bindings) {
        Path cache = NativeCache.prepare(System.getenv());
        try {
            Loader.load(bindings);
        } catch (LinkageError failure) {
            throw new UserException("cannot load the Java bindings of CUDA on " + Loader.getPlatform() + ": "
                + failure.getMessage() + ". " + NativeCache.advice(cache), failure);
        }
    }
}
