package org.isobar.cli.doctor;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.backend.GivenGpus;
import org.isobar.backend.GpuFindings;
import org.isobar.backend.cuda.driver.CudaComponent;
import org.isobar.backend.cuda.driver.CudaReport;
import org.isobar.backend.cuda.driver.DriverInfo;
import org.isobar.backend.cuda.driver.LibraryInfo;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.fault.UserException;
import org.isobar.os.HostMachine;

/**
 * What one task of a job has on its node.
 *
 * @param rank      rank of the task
 * @param node      host name
 * @param given     GPUs that the task was given, or "-"
 * @param driver    release of the NVIDIA driver and its CUDA version
 * @param gpus      GPUs that the task sees
 * @param libraries version of the CUDA runtime, or the libraries that are missing
 * @param nccl      version of NCCL, or "missing"
 * @param auto      what {@code --device=auto} does: "GPU", "CPU" or "code 2"
 * @param reason    why no GPU can be used; empty if one can
 */
record TaskFacts(int rank, String node, String given, String driver, String gpus, String libraries, String nccl,
    String auto, String reason) {
    static final List<String> COLUMNS = List.of("rank", "node", "given GPUs", "driver", "sees", "CUDA libraries",
        "NCCL", "--device=auto");

    /** Examines this process's node. */
    static TaskFacts examine(RankEnvironment ranks, Map<String, String> environment) {
        CudaReport report;
        try {
            report = TimeLimited.ofDriver(CudaReport::make);
        } catch (UserException failure) {
            String failed = failure.getMessage();
            return new TaskFacts(ranks.rank(), HostMachine.name(), given(GivenGpus.of(environment)), "?", "?", "?", "?",
                "?", failed);
        }
        GpuFindings found = new GpuFindings(report, report.obstacles(ranks.worldSize() > 1
            ? CudaReport.Reach.SEVERAL_GPUS : CudaReport.Reach.ONE_GPU, environment), GivenGpus.of(environment));
        return of(ranks.rank(), HostMachine.name(), found);
    }

    static TaskFacts of(int rank, String node, GpuFindings found) {
        CudaReport report = found.report();
        String auto = found.obstacles().isEmpty() ? "GPU" : found.refusal().isPresent() ? "code 2" : "CPU";
        return new TaskFacts(rank, node, given(found.given()), report.driver().map(TaskFacts::driver).orElse("none"),
            gpus(report), libraries(report), nccl(report), auto, found.reasons());
    }

    /** The most specific sign: the first of the GPUs of this task, those of the job, a number, or a device file. */
    private static String given(GivenGpus given) {
        return given.signs().isEmpty() ? "-" : given.signs().getFirst();
    }

    private static String driver(DriverInfo driver) {
        return driver.release().orElse("?") + " (CUDA " + driver.cuda() + ")";
    }

    private static String gpus(CudaReport report) {
        return report.gpus().isEmpty() ? "none" : report.gpus().stream()
            .collect(Collectors.groupingBy(gpu -> gpu.name(), Collectors.counting())).entrySet().stream().sorted(
                Map.Entry.comparingByKey()).map(kind -> kind.getValue() + " x " + kind.getKey())
            .collect(Collectors.joining(", "));
    }

    private static String libraries(CudaReport report) {
        List<LibraryInfo> needed = report.libraries().stream()
            .filter(library -> library.component().role() == CudaComponent.Role.NEEDED
                && library.component() != CudaComponent.DRIVER).toList();
        String missing = needed.stream().filter(library -> library.state() != LibraryInfo.State.FOUND)
            .map(library -> library.component().fileName()).collect(Collectors.joining(" "));
        return missing.isEmpty() ? version(needed.stream(), CudaComponent.RUNTIME).orElse("found")
            : "no " + missing;
    }

    private static String nccl(CudaReport report) {
        return version(report.libraries().stream(), CudaComponent.NCCL).orElse("missing");
    }

    private static Optional<String> version(Stream<LibraryInfo> libraries, CudaComponent component) {
        return libraries.filter(library -> library.component() == component
            && library.state() == LibraryInfo.State.FOUND)
            .map(library -> library.version().orElse("found")).findFirst();
    }

    /** The cells of the table, in the order of {@link #COLUMNS}. */
    List<String> row() {
        return List.of(String.valueOf(rank), node, given, driver, gpus, libraries, nccl, auto);
    }
}
