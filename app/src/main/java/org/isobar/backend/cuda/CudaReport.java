package org.isobar.backend.cuda;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.isobar.backend.cuda.CudaComponent.Role;

/**
 * What this machine has for training on GPUs. Made without the bindings of JavaCPP and without a context on any GPU,
 * so that it can be made wherever Java runs.
 *
 * @param driver    the driver, where there is one
 * @param libraries every library around a GPU
 * @param gpus      those that this process sees
 */
public record CudaReport(Optional<Driver> driver, List<Library> libraries, List<Gpu> gpus) {
    private static final int OLDEST_CAPABILITY = 80;
    private static final String NEEDED_DRIVER = "NVIDIA's driver 580 or newer";
    private static final List<String> OTHER_MAJORS = List.of("14", "12", "11", "");

    /** Whether a library is here. */
    public enum State {
        /** In the version that is needed. */
        FOUND,
        /** In another version alone. */
        WRONG,
        /** Not at all. */
        MISSING
    }

    /**
     * A library and what was found of it.
     *
     * @param file    where it lies
     * @param version what it, or its file's name, says
     */
    public record Library(CudaComponent component, State state, Optional<Path> file, Optional<String> version) { }

    /**
     * The driver.
     *
     * @param release "580.65.06", say, where it is known
     * @param cuda    the latest CUDA that it runs
     * @param failure what it answers to its initialization, where that fails
     */
    public record Driver(Optional<String> release, CudaVersion cuda, Optional<String> failure) { }

    /**
     * A GPU.
     *
     * @param capability compute capability, 90 for 9.0
     * @param bytes      its memory
     * @param free       what of it is free, where NVML tells
     */
    public record Gpu(String name, int capability, long bytes, Optional<Long> free) {
        /** "9.0". */
        public String computeCapability() {
            return capability / 10 + "." + capability % 10;
        }
    }

    /** Keeps copies. */
    public CudaReport {
        libraries = List.copyOf(libraries);
        gpus = List.copyOf(gpus);
    }

    /** Looks at this machine. */
    public static CudaReport make() {
        List<Library> libraries = new ArrayList<>();
        for (CudaComponent component : CudaComponent.values()) {
            libraries.add(look(component));
        }
        Optional<DriverProbe> probe = CudaLibraries.find(CudaComponent.DRIVER.fileName()).map(DriverProbe::new);
        return new CudaReport(probe.map(DriverProbe::driver), libraries,
            probe.map(DriverProbe::gpus).orElse(List.of()));
    }

    /** Where kernels are kept that have been compiled, in this environment. */
    public static Path kernelCache(Map<String, String> environment) {
        return KernelCache.directory(environment);
    }

    /** Looks for one library. */
    static Library look(CudaComponent component) {
        Optional<SystemLibrary> library = CudaLibraries.find(component.fileName());
        if (library.isPresent()) {
            return new Library(component, State.FOUND, library.get().file(component.function()),
                component.version(library.get()));
        }
        for (String major : OTHER_MAJORS) {
            String name = major.isEmpty() ? component.stem() : component.stem() + "." + major;
            Optional<SystemLibrary> other = CudaLibraries.find(name);
            if (other.isPresent()) {
                return new Library(component, State.WRONG, other.get().file(component.function()),
                    component.version(other.get()));
            }
        }
        return new Library(component, State.MISSING, Optional.empty(), Optional.empty());
    }

    /**
     * What keeps this machine from training on a GPU, the first thing first, each with what to do about it; nothing
     * if all that is needed is there.
     *
     * @param environment of this process
     */
    public List<String> obstacles(Map<String, String> environment) {
        List<String> obstacles = new ArrayList<>();
        List<String> lacking = libraries.stream().filter(library -> library.component().role() == Role.NEEDED)
            .filter(library -> library.state() != State.FOUND && library.component() != CudaComponent.DRIVER)
            .map(CudaReport::lack).toList();
        if (driver.isEmpty()) {
            obstacles.add(lack(libraries.get(CudaComponent.DRIVER.ordinal())) + ": " + remedy(CudaComponent.DRIVER));
        }
        if (!lacking.isEmpty()) {
            obstacles.add(String.join(", ", lacking) + ": " + remedy(CudaComponent.RUNTIME));
        }
        driver.ifPresent(found -> {
            if (found.cuda().compareTo(CudaVersion.NEEDED) < 0) {
                obstacles.add("the driver runs programs of CUDA " + found.cuda() + " and older, and this is built for "
                    + CudaVersion.NEEDED + ": install " + NEEDED_DRIVER);
            } else if (found.failure().isPresent()) {
                obstacles.add("the driver does not start: " + found.failure().get());
            } else if (gpus.isEmpty()) {
                obstacles.add(noGpu(environment));
            } else if (gpus.stream().allMatch(gpu -> gpu.capability() < OLDEST_CAPABILITY)) {
                obstacles.add("no GPU has compute capability 8.0 (Ampere) or newer");
            }
        });
        return obstacles;
    }

    private static String noGpu(Map<String, String> environment) {
        String visible = environment.get("CUDA_VISIBLE_DEVICES");
        return visible == null ? "there is no GPU here; under Slurm, ask for one: --gpus-per-task=1"
            : "CUDA_VISIBLE_DEVICES='" + visible + "' hides every GPU: unset it, or name one, 0 being the first";
    }

    /** What is wrong with a library. */
    static String lack(Library library) {
        CudaComponent component = library.component();
        return component.fileName() + (library.state() == State.MISSING ? " is missing"
            : " is not here, only " + library.file().map(Path::toString).orElse("another version"))
            + " (needed for " + component.purpose() + ")";
    }

    /** What to do about a library that is missing. */
    static String remedy(CudaComponent component) {
        return component == CudaComponent.DRIVER ? "install " + NEEDED_DRIVER : "install the CUDA toolkit "
            + CudaVersion.NEEDED.major() + ", or put the directory that has the library on LD_LIBRARY_PATH";
    }
}
