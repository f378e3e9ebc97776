package org.isobar.backend.cuda.kernels;

import static org.bytedeco.cuda.global.nvrtc.NVRTC_SUCCESS;
import static org.bytedeco.cuda.global.nvrtc.nvrtcCompileProgram;
import static org.bytedeco.cuda.global.nvrtc.nvrtcCreateProgram;
import static org.bytedeco.cuda.global.nvrtc.nvrtcDestroyProgram;
import static org.bytedeco.cuda.global.nvrtc.nvrtcGetCUBIN;
import static org.bytedeco.cuda.global.nvrtc.nvrtcGetCUBINSize;
import static org.bytedeco.cuda.global.nvrtc.nvrtcGetErrorString;
import static org.bytedeco.cuda.global.nvrtc.nvrtcGetProgramLog;
import static org.bytedeco.cuda.global.nvrtc.nvrtcGetProgramLogSize;
import static org.bytedeco.cuda.global.nvrtc.nvrtcVersion;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

import org.bytedeco.cuda.nvrtc._nvrtcProgram;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.javacpp.SizeTPointer;
import org.isobar.backend.cuda.driver.CudaComponent;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.driver.CudaLibraries;
import org.isobar.backend.cuda.driver.SystemLibrary;
import org.isobar.fault.UserException;

/** Compiles CUDA C++ with NVRTC. It needs no GPU, and no headers besides those of the {@link KernelSource}. */
public final class KernelCompiler {
    /**
     * Loads NVRTC.
     *
     * @throws UserException if NVRTC is not installed
     */
    public KernelCompiler() {
        CudaLibraries.loadCompiler();
    }

    /** The compiler, if NVRTC is installed. */
    static Optional<KernelCompiler> find() {
        try {
            return Optional.of(new KernelCompiler());
        } catch (UserException absent) {
            return Optional.empty();
        }
    }

    /** Version, size and modification time of the library: builds of the same version can differ. */
    public String identity() {
        int[] major = {0};
        int[] minor = {0};
        check(nvrtcVersion(major, minor), "nvrtcVersion");
        String version = major[0] + "_" + minor[0];
        return SystemLibrary.open(CudaComponent.NVRTC.fileName())
            .flatMap(library -> library.file(CudaComponent.NVRTC.function())).map(Path::toFile)
            .map(file -> version + "_" + Long.toHexString(file.length()) + "_" + Long.toHexString(file.lastModified()))
            .orElse(version);
    }

    /**
     * The options that every kernel is compiled with.
     *
     * @param capability compute capability of the device, 90 for 9.0
     * @param defines    preprocessor definitions, "NAME" or "NAME=VALUE"
     */
    public static List<String> options(int capability, List<String> defines) {
        List<String> options = new ArrayList<>(List.of("--gpu-architecture=sm_" + capability, "--std=c++17",
            "--device-as-default-execution-space"));
        defines.forEach(define -> options.add("-D" + define));
        return options;
    }

    /**
     * Compiles a source.
     *
     * @throws CudaException if the source does not compile; the message has the whole log
     */
    public KernelBinary compile(KernelSource source, List<String> options) {
        return compile(source, options, KernelCompiler::binary);
    }

    /** What {@code result} takes from a compiled program, which ends with this call. */
    <T> T compile(KernelSource source, List<String> options, Function<_nvrtcProgram, T> result) {
        _nvrtcProgram program = new _nvrtcProgram();
        try (PointerScope _ = new PointerScope()) { // also frees the strings that the arrays point to
            check(nvrtcCreateProgram(program, new BytePointer(source.text()), new BytePointer(source.file()),
                source.headers().size(), strings(source.headers().values()), strings(source.headers().keySet())),
                "nvrtcCreateProgram");
            int code = nvrtcCompileProgram(program, options.size(), strings(options));
            if (code != NVRTC_SUCCESS) {
                throw new CudaException("kernel " + source.file() + " does not compile (" + describe(code)
                    + "), with " + String.join(" ", options) + ":\n" + log(program));
            }
            return result.apply(program);
        } finally {
            nvrtcDestroyProgram(program);
        }
    }

    static KernelBinary binary(_nvrtcProgram program) {
        return new KernelBinary(image(program), log(program));
    }

    private static PointerPointer<BytePointer> strings(Collection<String> strings) {
        return new PointerPointer<>(strings.toArray(String[]::new));
    }

    private static byte[] image(_nvrtcProgram program) {
        try (SizeTPointer size = new SizeTPointer(1)) {
            check(nvrtcGetCUBINSize(program, size), "nvrtcGetCUBINSize");
            byte[] image = new byte[Math.toIntExact(size.get())];
            check(nvrtcGetCUBIN(program, image), "nvrtcGetCUBIN");
            return image;
        }
    }

    private static String log(_nvrtcProgram program) {
        try (SizeTPointer size = new SizeTPointer(1)) {
            check(nvrtcGetProgramLogSize(program, size), "nvrtcGetProgramLogSize");
            try (BytePointer log = new BytePointer(Math.max(1, size.get()))) {
                log.put(0, (byte) 0);
                check(nvrtcGetProgramLog(program, log), "nvrtcGetProgramLog");
                return log.limit(0).getString().strip(); // up to the terminating zero
            }
        }
    }

    private static void check(int result, String call) {
        if (result != NVRTC_SUCCESS) {
            throw new CudaException(call + ": " + describe(result));
        }
    }

    private static String describe(int result) {
        return nvrtcGetErrorString(result).getString();
    }
}
