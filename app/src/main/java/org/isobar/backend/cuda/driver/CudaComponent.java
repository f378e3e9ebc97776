package org.isobar.backend.cuda.driver;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.stream.IntStream;

/** The NVIDIA libraries that Isobar knows, each in the version it is built for, and what each is used for. */
public enum CudaComponent {
    /** The driver API. */
    DRIVER("libcuda.so", "1", Role.NEEDED, "everything on a GPU", "cuDriverGetVersion",
        library -> cudaVersion(library, "cuDriverGetVersion")),
    /** The CUDA runtime. */
    RUNTIME("libcudart.so", "13", Role.NEEDED, "the Java bindings of CUDA", "cudaRuntimeGetVersion",
        library -> cudaVersion(library, "cudaRuntimeGetVersion")),
    /** Matrix products. */
    CUBLAS_LT("libcublasLt.so", "13", Role.NEEDED, "matrix products", "cublasLtGetVersion",
        library -> size(library, "cublasLtGetVersion")),
    /** The bindings of cuBLASLt are linked with this library. */
    CUBLAS("libcublas.so", "13", Role.NEEDED, "the Java bindings of cuBLASLt", "cublasGetProperty",
        CudaComponent::properties),
    /** The run-time compiler of CUDA C++. */
    NVRTC("libnvrtc.so", "13", Role.NEEDED, "compiling the kernels", "nvrtcVersion",
        CudaComponent::compilerVersion),
    /** The management library. */
    NVML("libnvidia-ml.so", "1", Role.USEFUL, "what others use of a GPU's memory", "nvmlSystemGetDriverVersion",
        library -> library.text("nvmlSystemGetNVMLVersion")),
    /** Ranges for profilers. */
    NVTX("libnvtx3interop.so", "1", Role.USEFUL, "a step's phases in profiles", "nvtxRangePushA",
        library -> Optional.empty()),
    /** Collectives between GPUs. */
    NCCL("libnccl.so", "2", Role.SEVERAL_GPUS, "collectives between several GPUs",
        "ncclGetVersion", library -> library.numbers(1, "ncclGetVersion").map(number -> dotted(number[0]))),
    /** A second engine for attention. */
    CUDNN("libcudnn.so", "9", Role.USEFUL, "a second engine for attention, 9.19 or newer", "cudnnGetVersion",
        library -> size(library, "cudnnGetVersion"));

    /** The oldest cuDNN with both operations of attention: 9.19.0, as {@code cudnnGetVersion} returns it. */
    public static final long OLDEST_CUDNN = 91900;

    /** What a run cannot do without a library. */
    public enum Role {
        /** Needed by each run on a GPU. */
        NEEDED,
        /** Needed by runs on several GPUs, unless their collectives go through host memory. */
        SEVERAL_GPUS,
        /** Optional: a run reports less without it. */
        USEFUL
    }

    private final String stem;
    private final String major;
    private final Role role;
    private final String purpose;
    private final String function;
    private final Function<SystemLibrary, Optional<String>> version;

    CudaComponent(String stem, String major, Role role, String purpose, String function,
        Function<SystemLibrary, Optional<String>> version) {
        this.stem = stem;
        this.major = major;
        this.role = role;
        this.purpose = purpose;
        this.function = function;
        this.version = version;
    }

    /** File name that the dynamic loader looks for: "libcudart.so.13". */
    public String fileName() {
        return stem + "." + major;
    }

    /** Name without version: "libcudart.so". */
    String stem() {
        return stem;
    }

    /** Major version in the file name. */
    String major() {
        return major;
    }

    /** Whether runs need this library. */
    public Role role() {
        return role;
    }

    /** What the library is used for, in few words. */
    public String purpose() {
        return purpose;
    }

    /** Name of a function that only this library has. */
    public String function() {
        return function;
    }

    /** What the user can do if the library is missing. */
    public String remedy() {
        String path = "put the directory that has the library on LD_LIBRARY_PATH";
        return switch (this) {
            case DRIVER -> "install NVIDIA's driver 580 or newer, or on data-center GPUs the package "
                + "cuda-compat-13-0 for an older one";
            case NCCL -> "install NCCL 2, " + path + ", or use --comm_backend=host, which is slow";
            case CUDNN -> "install cuDNN 9 for CUDA 13, and " + path + " or set CUDNN_PATH";
            default -> "install the CUDA toolkit " + CudaVersion.NEEDED.major() + ", or " + path;
        };
    }

    /** Whether a library of the right major version is older than the oldest that can be used. */
    boolean isTooOld(SystemLibrary library) {
        return this == CUDNN && library.size(function).orElse(0) < OLDEST_CUDNN;
    }

    /** Version that the library reports, such as "13.0.2". */
    Optional<String> version(SystemLibrary library) {
        return version.apply(library);
    }

    /** "13.0" of 13000. */
    private static Optional<String> cudaVersion(SystemLibrary library, String function) {
        return library.numbers(1, function).map(number -> CudaVersion.of(number[0]).toString());
    }

    /** "2.28.9" of 22809. */
    public static String dotted(long number) {
        return number / 10_000 + "." + number / 100 % 100 + "." + number % 100;
    }

    private static Optional<String> size(SystemLibrary library, String function) {
        OptionalLong number = library.size(function);
        return number.isPresent() ? Optional.of(dotted(number.getAsLong())) : Optional.empty();
    }

    private static Optional<String> properties(SystemLibrary library) {
        List<String> parts = IntStream.range(0, 3) // major, minor, patch
            .mapToObj(part -> library.numbers(1, "cublasGetProperty", part))
            .flatMap(Optional::stream).map(number -> String.valueOf(number[0])).toList();
        return parts.isEmpty() ? Optional.empty() : Optional.of(String.join(".", parts));
    }

    private static Optional<String> compilerVersion(SystemLibrary library) {
        return library.numbers(2, "nvrtcVersion").map(numbers -> numbers[0] + "." + numbers[1]);
    }
}
