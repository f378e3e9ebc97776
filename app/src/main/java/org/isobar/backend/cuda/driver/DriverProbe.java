package org.isobar.backend.cuda.driver;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.os.HostMachine;

/** Asks the driver and NVML for their versions and for the GPUs, through {@link SystemLibrary}. */
final class DriverProbe {
    private static final int NO_DEVICE = 100; // CUDA_ERROR_NO_DEVICE
    // CUdevice_attribute
    private static final int CAPABILITY_MAJOR = 75;
    private static final int CAPABILITY_MINOR = 76;

    private final SystemLibrary driver;
    private final Optional<SystemLibrary> nvml;
    private final int initialized;

    DriverProbe(SystemLibrary driver) {
        this.driver = driver;
        nvml = LibrarySearch.find(CudaComponent.NVML.fileName())
            .filter(library -> library.status("nvmlInit_v2").orElse(-1) == 0);
        initialized = driver.status("cuInit", 0).orElse(-1);
    }

    /** The driver's release, CUDA version and initialization error. */
    DriverInfo driver() {
        Optional<String> release = nvml.flatMap(library -> library.text("nvmlSystemGetDriverVersion"))
            .or(HostMachine::nvidiaDriver);
        CudaVersion cuda = driver.numbers(1, "cuDriverGetVersion").map(number -> CudaVersion.of(number[0]))
            .orElse(new CudaVersion(0, 0));
        boolean works = initialized == 0 || initialized == NO_DEVICE;
        return new DriverInfo(release, cuda, works ? Optional.empty() : Optional.of(error(initialized)));
    }

    /** The GPUs that this process sees. */
    List<GpuInfo> gpus() {
        int count = driver.numbers(1, "cuDeviceGetCount").map(number -> number[0]).orElse(0);
        return IntStream.range(0, count).mapToObj(this::gpu).toList();
    }

    private GpuInfo gpu(int device) {
        int capability = 10 * attribute(CAPABILITY_MAJOR, device) + attribute(CAPABILITY_MINOR, device);
        Optional<Long> free = driver.text("cuDeviceGetPCIBusId", device).flatMap(this::free);
        return new GpuInfo(driver.text("cuDeviceGetName", device).orElse("a GPU without a name"), capability,
            bytes(device), free);
    }

    private int attribute(int attribute, int device) {
        return (int) result("cuDeviceGetAttribute", attribute, device);
    }

    private long bytes(int device) {
        return result("cuDeviceTotalMem_v2", device);
    }

    /** The output of the driver's {@code int function(T* number, ...)}; 0 if it fails. */
    private long result(String function, Object... arguments) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment number = arena.allocate(ValueLayout.JAVA_LONG); // four or eight bytes, little-endian
            driver.status(function, Stream.concat(Stream.of(number), Stream.of(arguments)).toArray());
            return number.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    /** Free bytes of the GPU with this PCI bus id. */
    private Optional<Long> free(String busId) {
        if (nvml.isEmpty()) {
            return Optional.empty();
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment device = arena.allocate(ValueLayout.ADDRESS);
            MemorySegment memory = arena.allocate(ValueLayout.JAVA_LONG, 3); // nvmlMemory_t: total, free, used
            boolean known = nvml.get().status("nvmlDeviceGetHandleByPciBusId_v2", arena.allocateFrom(busId), device)
                .orElse(-1) == 0 && nvml.get().status("nvmlDeviceGetMemoryInfo", device.get(ValueLayout.ADDRESS, 0),
                memory).orElse(-1) == 0;
            return known ? Optional.of(memory.getAtIndex(ValueLayout.JAVA_LONG, 1)) : Optional.empty();
        }
    }

    private String error(int status) {
        return "cuInit: " + errorText("cuGetErrorName", status).orElse("error " + status)
            + errorText("cuGetErrorString", status).map(text -> " (" + text + ")").orElse("");
    }

    @SuppressWarnings("restricted") // a constant string of the driver
    private Optional<String> errorText(String function, int status) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(ValueLayout.ADDRESS);
            return driver.status(function, status, text).orElse(-1) != 0 ? Optional.empty()
                : Optional.of(text.get(ValueLayout.ADDRESS, 0).reinterpret(Long.MAX_VALUE).getString(0));
        }
    }
}
