package org.isobar.cli.doctor;

import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
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
import org.isobar.cli.options.ProgramContext;
import org.isobar.cli.options.Version;
import org.isobar.cli.print.FactTable;
import org.isobar.device.Device;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.fault.UserException;
import org.isobar.os.CacheDirectory;
import org.isobar.os.HostMachine;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * {@code isobar doctor}: prints the hardware and software of this machine, whether training works on its CPU and GPUs
 * and, if not, why and what to do. It needs nothing but Java, and every query has a time limit.
 */
@Command(name = DoctorCommand.NAME, mixinStandardHelpOptions = true, sortOptions = false,
    description = DoctorCommand.SUMMARY, footer = "Example for a job: srun ./isobar doctor --job")
public final class DoctorCommand implements Callable<Integer> {
    public static final String NAME = "doctor";
    public static final String SUMMARY = "Print what this machine has, whether training works on its CPU and GPUs, "
        + "and what to do if not.";
    private static final Duration PROGRAM_LIMIT = Duration.ofSeconds(5);
    private static final Duration DEVICE_LIMIT = Duration.ofSeconds(60);
    private static final RankEnvironment SINGLE_PROCESS = RankEnvironment.of(Map.of());
    /** Processor features that speed up training, by their names in /proc/cpuinfo. */
    private static final Map<String, String> FEATURES = features();
    /** Environment variables that change what the program does or finds. */
    private static final List<String> VARIABLES = List.of("CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE",
        "LD_LIBRARY_PATH", "CUDNN_PATH", "XDG_CACHE_HOME", "ISOBAR_CACHE", "ISOBAR_KERNEL_CACHE", "ISOBAR_THREADS",
        "SLURM_JOB_ID", "SLURM_JOB_PARTITION", "SLURM_JOB_NODELIST", "SLURM_NNODES", "SLURM_NTASKS",
        "SLURM_NTASKS_PER_NODE", "SLURM_CPUS_PER_TASK", "SLURM_GPUS_ON_NODE", "SLURM_STEP_ID",
        "SLURM_PROCID", "SLURM_LOCALID");

    private final ProgramContext context;
    @Spec
    private CommandSpec spec;
    @Option(names = "--job", description = "Print one table of what each task of this job has on its node.")
    private boolean job;
    @Parameters(arity = "0..*", paramLabel = "COMMAND", description = "An isobar command with its options: print in "
        + "one line what it would compute on here, or end with code 2 if it cannot use the GPUs that it asks for or "
        + "that Slurm has given.")
    private List<String> command = List.of();

    private DoctorCommand(ProgramContext context) {
        this.context = context;
    }

    /** The parsed command line. Options after COMMAND belong to COMMAND. */
    public static CommandLine commandLine(ProgramContext context) {
        return new CommandLine(new DoctorCommand(context)).setStopAtPositional(true);
    }

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        if (!command.isEmpty()) {
            out.println(new CommandCheck(context, spec.root().commandLine()).verdict(command));
        } else if (job) {
            new JobSurvey(context.environment(), JobSurvey.LIMIT).run(out);
        } else {
            examine(out);
        }
        out.flush();
        return 0;
    }

    private void examine(PrintWriter out) {
        FactTable facts = new FactTable(out);
        program(facts);
        machine(facts);
        facts.line("Native libraries", nativeCache());
        Obstacles obstacles = gpus(facts);
        tools(facts);
        variables(facts);
        summary(facts, obstacles);
    }

    private static void program(FactTable facts) {
        String[] version = new Version().getVersion();
        facts.line("Isobar", version[0].substring("isobar ".length()));
        facts.line("Java", version[1].substring("Java ".length()) + ", " + System.getProperty("java.home"));
    }

    private static void machine(FactTable facts) {
        facts.line("System", String.join(" ", System.getProperty("os.name"), System.getProperty("os.version"),
            System.getProperty("os.arch")));
        facts.line("Processor", () -> HostMachine.processor() + "; cores for this process: "
            + Runtime.getRuntime().availableProcessors());
        facts.line("  supports", () -> {
            Set<String> features = HostMachine.processorFeatures();
            return FEATURES.entrySet().stream()
                .map(entry -> entry.getValue() + (features.contains(entry.getKey()) ? " yes" : " no"))
                .reduce((one, other) -> one + ", " + other).orElseThrow();
        });
        facts.line("Memory", () -> FactTable.gibibytes(HostMachine.totalMemory()) + ", "
            + FactTable.gibibytes(HostMachine.availableMemory()) + " of it available");
    }

    /** The directory of a bundle's native libraries, or the one in which they are unpacked. */
    private String nativeCache() {
        Path unpacked = context.home().resolve("native");
        if (Files.isDirectory(unpacked)) {
            return "in " + unpacked;
        }
        try {
            return CacheDirectory.open(context.environment(), "native").map(directory -> "unpacked in " + directory
                + ", which only you can write").orElse("unpacked in a temporary directory at each start, because no "
                + "directory in HOME can be written; set " + CacheDirectory.VARIABLE);
        } catch (UserException unsafe) {
            return unsafe.getMessage();
        }
    }

    private static Map<String, String> features() {
        Map<String, String> features = new LinkedHashMap<>();
        features.put("avx2", "AVX2");
        features.put("avx512f", "AVX-512");
        features.put("avx512_bf16", "AVX-512 bf16");
        features.put("amx_bf16", "AMX bf16");
        return features;
    }

    /** What prevents training on one GPU, and what else prevents training on several. */
    private record Obstacles(List<String> one, List<String> several) { }

    private Obstacles gpus(FactTable facts) {
        CudaReport report;
        try {
            report = TimeLimited.ofDriver(CudaReport::make);
        } catch (UserException failure) {
            facts.line("NVIDIA driver", failure.getMessage());
            return new Obstacles(List.of(failure.getMessage()), List.of());
        }
        CudaFacts.print(report, context.environment(), facts);
        List<String> one = obstacles(report, CudaReport.Reach.ONE_GPU);
        return new Obstacles(one, obstacles(report, CudaReport.Reach.SEVERAL_GPUS).stream()
            .filter(obstacle -> !one.contains(obstacle)).toList());
    }

    private List<String> obstacles(CudaReport report, CudaReport.Reach reach) {
        return report.obstacles(reach, context.environment()).stream().map(CudaObstacle::toString).toList();
    }

    private static void tools(FactTable facts) {
        facts.heading("Tools");
        facts.table(Stream.of("srun", "sinfo", "nsys")
            .map(program -> List.of(program, TimeLimited.firstLine(PROGRAM_LIMIT, program, "--version"))).toList());
    }

    private void variables(FactTable facts) {
        List<List<String>> set = VARIABLES.stream().filter(context.environment()::containsKey)
            .map(name -> List.of(name, "'" + context.environment().get(name) + "'")).toList();
        if (!set.isEmpty()) {
            facts.heading("Environment");
            facts.table(set);
        }
    }

    private void summary(FactTable facts, Obstacles obstacles) {
        facts.heading("What works");
        facts.line("CPU training:", failureToOpen(Backend.CPU).map(DoctorCommand::no).orElse("yes."));
        if (obstacles.one().isEmpty()) {
            Optional<String> failure = failureToOpen(Backend.CUDA);
            facts.line("GPU training:", failure.map(DoctorCommand::no).orElse("yes."));
            if (failure.isEmpty()) {
                facts.line("On several GPUs:", obstacles.several().stream().findFirst().map(DoctorCommand::no)
                    .orElse("yes."));
            }
        } else {
            facts.line("GPU training:", no(obstacles.one().getFirst()));
            obstacles.one().stream().skip(1).forEach(other -> facts.line("", "and " + other + "."));
        }
    }

    /** Why the device cannot be opened; empty if it can. */
    private Optional<String> failureToOpen(Backend backend) {
        DeviceOptions options = DeviceOptions.of(OptionalInt.of(1), SINGLE_PROCESS, CommBackend.AUTO,
            context.environment());
        try {
            return TimeLimited.call("opening the device", DEVICE_LIMIT, () -> {
                try (Device _ = backend.open(options, line -> { })) {
                    return Optional.empty();
                }
            });
        } catch (UserException failure) {
            return failure.getMessage().lines().findFirst(); // further lines are a compiler's log
        }
    }

    private static String no(String why) {
        return "no, because " + why + ".";
    }
}
