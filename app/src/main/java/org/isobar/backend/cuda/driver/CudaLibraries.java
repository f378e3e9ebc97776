package org.isobar.backend.cuda.driver;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

import org.bytedeco.cuda.global.cublas;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.cuda.global.nccl;
import org.bytedeco.cuda.global.nvrtc;
import org.bytedeco.javacpp.Loader;
import org.isobar.fault.UserException;

/**
 * Finds and loads the libraries of CUDA, which are the machine's own. The loader looks for them on LD_LIBRARY_PATH and
 * in its cache; where it finds nothing, the places of a toolkit follow. What has been loaded once under its name is
 * what the bindings of JavaCPP are bound to, whatever else JavaCPP finds.
 */
public final class CudaLibraries {
    private static final List<String> HOMES = List.of("CUDA_HOME", "CUDA_PATH");
    private static final Path INSTALLED = Path.of("/usr/local");
    private static final String UNPACKING = "They are unpacked in ~/.javacpp, which must be writable and not mounted "
        + "noexec; else set JAVA_TOOL_OPTIONS=-Dorg.bytedeco.javacpp.cachedir=DIR";

    private CudaLibraries() { }

    /** The library of this file name, "libcudart.so.13", say; loaded for good. */
    static Optional<SystemLibrary> find(String fileName) {
        return SystemLibrary.open(fileName).or(() -> toolkits().map(directory -> directory.resolve(fileName))
            .filter(Files::isReadable).map(file -> SystemLibrary.open(file.toString())).flatMap(Optional::stream)
            .findFirst());
    }

    /**
     * Loads what every run on a GPU needs: the driver, the runtime, cuBLASLt and their bindings.
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
     * Loads the compiler: the redistributable one if it is on the class path, else that of the machine.
     *
     * @throws UserException if there is none
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
     * NVRTC has a second library, which it opens by its mere name when it first compiles. It lies beside the first;
     * where the loader does not look there, it has to be loaded already.
     */
    private static void loadBuiltins() {
        find(CudaComponent.NVRTC.fileName()).ifPresent(compiler -> compiler.file(CudaComponent.NVRTC.function())
            .flatMap(file -> CudaComponent.NVRTC.version(compiler)
                .map(version -> file.resolveSibling("libnvrtc-builtins.so." + version)))
            .filter(Files::isReadable).ifPresent(file -> SystemLibrary.open(file.toString())));
    }

    private static void require(CudaComponent component) {
        if (find(component.fileName()).isEmpty()) {
            throw new UserException(CudaReport.lack(CudaReport.look(component)) + "; " + CudaReport.remedy(component));
        }
    }

    private static void bind(Class<?> bindings) {
        try {
            Loader.load(bindings);
        } catch (LinkageError failure) {
            throw new UserException("cannot load the Java bindings of CUDA on " + Loader.getPlatform() + ": "
                + failure.getMessage() + ". " + UNPACKING, failure);
        }
    }

    /** Directories of libraries of the toolkits here, the one that the environment names first, then the newest. */
    private static Stream<Path> toolkits() {
        List<Path> homes = new ArrayList<>();
        HOMES.stream().map(System::getenv).filter(home -> home != null && !home.isBlank())
            .forEach(home -> homes.add(Path.of(home)));
        try (DirectoryStream<Path> installed = Files.newDirectoryStream(INSTALLED, "cuda*")) {
            List<Path> found = new ArrayList<>();
            installed.forEach(found::add);
            found.sort(Comparator.comparing(Path::toString).reversed());
            homes.addAll(found);
        } catch (IOException none) { // those of the environment, then
        }
        return homes.stream().map(home -> home.resolve("lib64"));
    }
}
