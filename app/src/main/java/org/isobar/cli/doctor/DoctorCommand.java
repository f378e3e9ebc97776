package org.isobar.cli.doctor;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Stream;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;
import org.isobar.backend.DeviceOptions;
import org.isobar.backend.cuda.driver.CudaObstacle;
import org.isobar.backend.cuda.driver.CudaReport;
import org.isobar.backend.cuda.kernels.KernelCache;
import org.isobar.cli.options.ProgramContext;
import org.isobar.cli.options.Version;
import org.isobar.cli.print.FactTable;
import org.isobar.device.Device;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.fault.UserException;
import org.isobar.os.HostMachine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/**
 * {@code isobar doctor}: what this machine has, what will work on it, and what will not, why, and what to do. Asks
 * nothing of the machine but to run Java, and waits for nothing without end.
 */
@Command(name = "doctor", mixinStandardHelpOptions = true,
    description = "Say what this machine has, what will work on it, and what will not, why, and what to do.")
public final class DoctorCommand implements Callable<Integer> {
    private static final Duration PROGRAMS = Duration.ofSeconds(5);
    private static final Duration DRIVER = Duration.ofSeconds(30);
    private static final Duration DEVICE = Duration.ofSeconds(60);
    private static final RankEnvironment ALONE = RankEnvironment.of(Map.of());
    /** What of the processor's features makes training on it fast, by the kernel's names. */
    private static final Map<String, String> FEATURES = features();
    /** Variables that change what the program does or finds. */
    private static final List<String> VARIABLES = List.of("CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE",
        "LD_LIBRARY_PATH", "ISOBAR_KERNEL_CACHE", "ISOBAR_THREADS", "SLURM_JOB_ID", "SLURM_JOB_PARTITION",
        "SLURM_JOB_NODELIST", "SLURM_NNODES", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_CPUS_PER_TASK",
        "SLURM_GPUS_ON_NODE", "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_LOCALID");

    private final ProgramContext launch;
    @Spec
    private CommandSpec spec;

    public DoctorCommand(ProgramContext launch) {
        this.launch = launch;
    }

    @Override
    public Integer call() {
        FactTable sheet = new FactTable(spec.commandLine().getOut());
        program(sheet);
        machine(sheet);
        Obstacles obstacles = gpus(sheet);
        tools(sheet);
        variables(sheet);
        summary(sheet, obstacles);
        spec.commandLine().getOut().flush();
        return 0;
    }

    private static void program(FactTable sheet) {
        String[] version = new Version().getVersion();
        sheet.line("Isobar", version[0].substring("isobar ".length()));
        sheet.line("Java", version[1].substring("Java ".length()) + ", " + System.getProperty("java.home"));
    }

    private static void machine(FactTable sheet) {
        sheet.line("System", String.join(" ", System.getProperty("os.name"), System.getProperty("os.version"),
            System.getProperty("os.arch")));
        sheet.line("Processor", () -> HostMachine.processor() + "; cores for this process: "
            + Runtime.getRuntime().availableProcessors());
        sheet.line("  knows", () -> {
            Set<String> features = HostMachine.processorFeatures();
            return FEATURES.entrySet().stream()
                .map(entry -> entry.getValue() + (features.contains(entry.getKey()) ? " yes" : " no"))
                .reduce((one, other) -> one + ", " + other).orElseThrow();
        });
        sheet.line("Memory", () -> FactTable.gibibytes(HostMachine.totalMemory()) + ", "
            + FactTable.gibibytes(HostMachine.availableMemory()) + " of it available");
    }

    private static Map<String, String> features() {
        Map<String, String> features = new LinkedHashMap<>();
        features.put("avx2", "AVX2");
        features.put("avx512f", "AVX-512");
        features.put("avx512_bf16", "AVX-512 bf16");
        features.put("amx_bf16", "AMX bf16");
        return features;
    }

    /** What keeps this machine from training on one GPU, and what else from training on several. */
    private record Obstacles(List<String> one, List<String> several) { }

    private Obstacles gpus(FactTable sheet) {
        CudaReport report;
        try {
            report = TimeLimited.call("asking NVIDIA's libraries", DRIVER, CudaReport::make);
        } catch (UserException failure) {
            sheet.line("NVIDIA driver", failure.getMessage());
            return new Obstacles(List.of(failure.getMessage()), List.of());
        }
        CudaFacts.print(report, KernelCache.directory(launch.environment()), sheet);
        List<String> one = obstacles(report, CudaReport.Reach.ONE_GPU);
        return new Obstacles(one, obstacles(report, CudaReport.Reach.SEVERAL_GPUS).stream()
            .filter(obstacle -> !one.contains(obstacle)).toList());
    }

    private List<String> obstacles(CudaReport report, CudaReport.Reach reach) {
        return report.obstacles(reach, launch.environment()).stream().map(CudaObstacle::toString).toList();
    }

    private static void tools(FactTable sheet) {
        sheet.heading("Tools");
        sheet.table(Stream.of("srun", "sinfo", "nsys")
            .map(program -> List.of(program, TimeLimited.firstLine(PROGRAMS, program, "--version"))).toList());
    }

    private void variables(FactTable sheet) {
        List<List<String>> set = VARIABLES.stream().filter(launch.environment()::containsKey)
            .map(name -> List.of(name, "'" + launch.environment().get(name) + "'")).toList();
        if (!set.isEmpty()) {
            sheet.heading("Environment");
            sheet.table(set);
        }
    }

    private void summary(FactTable sheet, Obstacles obstacles) {
        sheet.heading("What works");
        sheet.line("CPU training:", opens(Backend.CPU).map(DoctorCommand::no).orElse("yes."));
        if (obstacles.one().isEmpty()) {
            Optional<String> closed = opens(Backend.CUDA);
            sheet.line("GPU training:", closed.map(DoctorCommand::no).orElse("yes."));
            if (closed.isEmpty()) {
                sheet.line("On several GPUs:", obstacles.several().stream().findFirst().map(DoctorCommand::no)
                    .orElse("yes."));
            }
        } else {
            sheet.line("GPU training:", no(obstacles.one().getFirst()));
            obstacles.one().stream().skip(1).forEach(other -> sheet.line("", "and " + other + "."));
        }
    }

    /** What the device answers where it cannot be opened. */
    private Optional<String> opens(Backend backend) {
        DeviceOptions options = DeviceOptions.of(OptionalInt.of(1), ALONE, CommBackend.AUTO,
            launch.environment());
        try {
            return TimeLimited.call("opening the device", DEVICE, () -> {
                try (Device _ = backend.open(options, line -> { })) {
                    return Optional.empty();
                }
            });
        } catch (UserException closed) {
            return closed.getMessage().lines().findFirst(); // what follows is a compiler's log
        }
    }

    private static String no(String why) {
        return "no, because " + why + ".";
    }
}
