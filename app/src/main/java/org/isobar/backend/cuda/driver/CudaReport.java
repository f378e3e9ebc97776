package org.isobar.backend.cuda.driver;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.backend.cuda.driver.CudaComponent.Role;

/**
 * What this machine has for training on GPUs. Made without the bindings of JavaCPP and without a context on any GPU,
 * so that it can be made wherever Java runs.
 *
 * @param driver    the driver, where there is one
 * @param libraries every library around a GPU
 * @param gpus      those that this process sees
 */
public record CudaReport(Optional<Driver> driver, List<Library> libraries, List<Gpu> gpus) {
    static final int OLDEST_CAPABILITY = 80;
    private static final String NEEDED_DRIVER = "NVIDIA's driver 580 or newer";
    private static final List<String> OTHER_MAJORS = List.of("14", "12", "11", "");

    /** How far a run reaches. */
    public enum Reach {
        /** One process, or several whose collectives go through the host. */
        ONE_GPU,
        /** Collectives between GPUs. */
        SEVERAL_GPUS;

        private boolean needs(CudaComponent component) {
            return component.role() == Role.NEEDED || this == SEVERAL_GPUS && component.role() == Role.SEVERAL_GPUS;
        }
    }

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

        @Override
        public String toString() {
            return name + " of compute capability " + computeCapability();
        }
    }

    /** Keeps copies. */
    public CudaReport {
        libraries = List.copyOf(libraries);
        gpus = List.copyOf(gpus);
    }

    /**
     * Something that keeps this machine from training on a GPU.
     *
     * @param what   in few words
     * @param remedy what to do about it
     */
    public record Obstacle(String what, String remedy) {
        @Override
        public String toString() {
            return what + ": " + remedy;
        }
    }

    /** Looks at all that there may be on this machine. */
    public static CudaReport make() {
        return of(List.of(CudaComponent.values()));
    }

    /** Looks at what a run needs. The compiler is not of it: all kernels may have been compiled before. */
    public static CudaReport toRun(Reach reach) {
        return of(Stream.of(CudaComponent.values())
            .filter(component -> reach.needs(component) && component != CudaComponent.NVRTC).toList());
    }

    private static CudaReport of(List<CudaComponent> components) {
        List<Library> libraries = components.stream().map(CudaReport::look).toList();
        Optional<DriverProbe> probe = CudaLibraries.find(CudaComponent.DRIVER.fileName()).map(DriverProbe::new);
        return new CudaReport(probe.map(DriverProbe::driver), libraries,
            probe.map(DriverProbe::gpus).orElse(List.of()));
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
     * What keeps this machine from training on GPUs, the first thing first; nothing if all that is needed is there.
     *
     * @param reach       on one, or on several
     * @param environment of this process
     */
    public List<Obstacle> obstacles(Reach reach, Map<String, String> environment) {
        List<Obstacle> obstacles = new ArrayList<>();
        if (driver.isEmpty()) {
            obstacles.add(new Obstacle("no NVIDIA driver (" + CudaComponent.DRIVER.fileName() + ")",
                remedy(CudaComponent.DRIVER)));
        }
        lacking(Role.NEEDED, CudaComponent.RUNTIME).ifPresent(obstacles::add);
        driver.flatMap(found -> obstacle(found, environment)).ifPresent(obstacles::add);
        if (reach == Reach.SEVERAL_GPUS) {
            lacking(Role.SEVERAL_GPUS, CudaComponent.NCCL).ifPresent(obstacles::add);
        }
        return obstacles;
    }

    /** The libraries of a role that are not here, and what to do about those: the same as for {@code one} of them. */
    private Optional<Obstacle> lacking(Role role, CudaComponent one) {
        String lacking = libraries.stream().filter(library -> library.component().role() == role)
            .filter(library -> library.state() != State.FOUND && library.component() != CudaComponent.DRIVER)
            .map(CudaReport::lack).collect(Collectors.joining(", "));
        return lacking.isEmpty() ? Optional.empty() : Optional.of(new Obstacle(lacking, remedy(one)));
    }

    private Optional<Obstacle> obstacle(Driver found, Map<String, String> environment) {
        if (found.cuda().compareTo(CudaVersion.NEEDED) < 0) {
            return Optional.of(new Obstacle("the NVIDIA driver runs CUDA " + found.cuda() + " and older, and "
                + CudaVersion.NEEDED + " is needed", remedy(CudaComponent.DRIVER)));
        }
        String visible = environment.get("CUDA_VISIBLE_DEVICES");
        if (found.failure().isPresent()) {
            return Optional.of(new Obstacle("the NVIDIA driver does not start (" + found.failure().get() + ")",
                "see what nvidia-smi says"));
        }
        if (gpus.isEmpty()) {
            return Optional.of(visible == null
                ? new Obstacle("no GPU", "see what nvidia-smi shows; under Slurm, ask for --gpus-per-task=1")
                : new Obstacle("CUDA_VISIBLE_DEVICES='" + visible + "' shows no GPU",
                    "unset it, or name one, 0 being the first"));
        }
        return gpus.stream().allMatch(gpu -> gpu.capability() < OLDEST_CAPABILITY)
            ? Optional.of(tooOld(gpus.getFirst().toString())) : Optional.empty();
    }

    /** What is said of a GPU, its name and compute capability, that cannot run the kernels. */
    static Obstacle tooOld(String gpu) {
        return new Obstacle(gpu + " is too old", "a GPU of compute capability " + OLDEST_CAPABILITY / 10
            + ".0 (Ampere) or newer is needed");
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
        String found = "put the directory that has the library on LD_LIBRARY_PATH";
        return switch (component) {
            case DRIVER -> "install " + NEEDED_DRIVER;
            case NCCL -> "install NCCL 2, " + found + ", or use --comm_backend=host, which is slow";
            default -> "install the CUDA toolkit " + CudaVersion.NEEDED.major() + ", or " + found;
        };
    }
}
