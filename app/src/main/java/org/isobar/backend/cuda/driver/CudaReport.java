package org.isobar.backend.cuda.driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.backend.cuda.driver.CudaComponent.Role;

/**
 * The driver, the CUDA libraries and the GPUs of this machine. It is read without the JavaCPP bindings and without a
 * CUDA context, so it works wherever Java runs.
 *
 * @param driver    the driver, if one is installed
 * @param libraries the CUDA libraries that were looked for
 * @param gpus      the GPUs that this process sees
 */
public record CudaReport(Optional<DriverInfo> driver, List<LibraryInfo> libraries, List<GpuInfo> gpus) {
    /** Which GPUs a run uses. */
    public enum Reach {
        /** One process, or several whose collectives go through host memory. */
        ONE_GPU,
        /** Several processes with collectives between GPUs, over NCCL. */
        SEVERAL_GPUS;

        private boolean needs(CudaComponent component) {
            return component.role() == Role.NEEDED || this == SEVERAL_GPUS && component.role() == Role.SEVERAL_GPUS;
        }
    }

    /** Keeps copies. */
    public CudaReport {
        libraries = List.copyOf(libraries);
        gpus = List.copyOf(gpus);
    }

    /** Looks for every library in {@link CudaComponent}. */
    public static CudaReport make() {
        return of(List.of(CudaComponent.values()));
    }

    /** Looks for what a run needs. NVRTC is left out, because all kernels may be in the cache already. */
    public static CudaReport toRun(Reach reach) {
        return of(Stream.of(CudaComponent.values())
            .filter(component -> reach.needs(component) && component != CudaComponent.NVRTC).toList());
    }

    private static CudaReport of(List<CudaComponent> components) {
        List<LibraryInfo> libraries = components.stream().map(LibrarySearch::inspect).toList();
        Optional<DriverProbe> probe = LibrarySearch.find(CudaComponent.DRIVER.fileName()).map(DriverProbe::new);
        return new CudaReport(probe.map(DriverProbe::driver), libraries,
            probe.map(DriverProbe::gpus).orElse(List.of()));
    }

    /**
     * Why this machine cannot train on GPUs, the most basic reason first; empty if it can.
     *
     * @param environment of this process
     */
    public List<CudaObstacle> obstacles(Reach reach, Map<String, String> environment) {
        List<CudaObstacle> obstacles = new ArrayList<>();
        if (driver.isEmpty()) {
            obstacles.add(new CudaObstacle("no NVIDIA driver (" + CudaComponent.DRIVER.fileName() + ")",
                CudaComponent.DRIVER.remedy()));
        }
        lacking(Role.NEEDED, CudaComponent.RUNTIME).ifPresent(obstacles::add);
        driver.flatMap(found -> obstacle(found, environment)).ifPresent(obstacles::add);
        if (reach == Reach.SEVERAL_GPUS) {
            lacking(Role.SEVERAL_GPUS, CudaComponent.NCCL).ifPresent(obstacles::add);
        }
        return obstacles;
    }

    /** The missing libraries of a role as one obstacle, with the remedy of library {@code one}. */
    private Optional<CudaObstacle> lacking(Role role, CudaComponent one) {
        String lacking = libraries.stream().filter(library -> library.component().role() == role)
            .filter(library -> library.state() != LibraryInfo.State.FOUND)
            .filter(library -> library.component() != CudaComponent.DRIVER)
            .map(LibraryInfo::problem).collect(Collectors.joining(", "));
        return lacking.isEmpty() ? Optional.empty() : Optional.of(new CudaObstacle(lacking, one.remedy()));
    }

    private Optional<CudaObstacle> obstacle(DriverInfo found, Map<String, String> environment) {
        if (found.cuda().compareTo(CudaVersion.NEEDED) < 0) {
            return Optional.of(new CudaObstacle("the NVIDIA driver runs CUDA " + found.cuda() + " and older, and "
                + CudaVersion.NEEDED + " is needed", CudaComponent.DRIVER.remedy()));
        }
        String visible = environment.get("CUDA_VISIBLE_DEVICES");
        if (found.failure().isPresent()) {
            return Optional.of(new CudaObstacle("the NVIDIA driver does not start (" + found.failure().get() + ")",
                "see what nvidia-smi says"));
        }
        if (gpus.isEmpty()) {
            return Optional.of(visible == null
                ? new CudaObstacle("no GPU", "see what nvidia-smi shows; under Slurm, ask for --gpus-per-task=1")
                : new CudaObstacle("CUDA_VISIBLE_DEVICES='" + visible + "' shows no GPU",
                    "unset it, or name one, 0 being the first"));
        }
        return gpus.stream().allMatch(gpu -> gpu.capability() < GpuInfo.OLDEST_CAPABILITY)
            ? Optional.of(CudaObstacle.tooOld(gpus.getFirst().toString())) : Optional.empty();
    }
}
