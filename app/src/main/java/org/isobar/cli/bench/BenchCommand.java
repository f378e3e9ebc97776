package org.isobar.cli.bench;

import java.nio.file.Path;
import java.util.Optional;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;
import org.isobar.backend.DeviceOptions;
import org.isobar.bench.measure.CeilingsBenchmark;
import org.isobar.bench.measure.StepBenchmark;
import org.isobar.bench.report.BenchFiles;
import org.isobar.bench.report.BenchReport;
import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.config.RunConfig;
import org.isobar.config.ThreadCount;
import org.isobar.device.Device;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.fault.UserException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * {@code isobar bench}: measures this machine. Results are JSON files, which {@code bench report} gathers;
 * {@code bench cpu} and {@code bench/gpu.sh} run all of it beside PyTorch.
 */
@Command(name = "bench", mixinStandardHelpOptions = true, synopsisSubcommandLabel = "COMMAND",
    description = "Measure what this machine makes of a training step.")
public final class BenchCommand implements Runnable {
    @Spec
    private CommandSpec spec;

    private BenchCommand() { }

    /** The command with its own commands, of which {@code step} takes a run's options. */
    public static CommandLine commandLine(ProgramContext launch) {
        CommandLine step = new CommandLine(new Step(launch));
        ConfigOptions.declare(step.getCommandSpec());
        return new CommandLine(new BenchCommand()).addSubcommand(step)
            .addSubcommand(new MeasureCeilings(launch)).addSubcommand(new BenchCpuCommand(launch))
            .addSubcommand(new BenchLoaderCommand(launch))
            .addSubcommand(new Report());
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(),
            "Name a command: " + String.join(", ", spec.subcommands().keySet()));
    }

    @Command(name = "step", mixinStandardHelpOptions = true, sortOptions = false, abbreviateSynopsis = true,
        showDefaultValues = true,
        description = "Measure a preset's training step, and each operation in it, on a batch that is resident.")
    private static final class Step implements Runnable {
        private final ProgramContext launch;
        @Spec
        private CommandSpec spec;
        @CommandLine.Mixin
        private BenchOutput outcome;
        @Option(names = "--warmup_steps", paramLabel = "N", defaultValue = "5", description = "Steps before.")
        private int warmup;
        @Option(names = "--steps", paramLabel = "N", defaultValue = "20", description = "Steps that are measured.")
        private int steps;
        @Option(names = "--whole_steps", description = "Do not look at single operations in further steps.")
        private boolean wholeSteps;

        private Step(ProgramContext launch) {
            this.launch = launch;
        }

        @Override
        public void run() {
            RunConfig config = ConfigOptions.resolve(spec.commandLine().getParseResult(), launch);
            try (Device device = config.device().open(config.deviceOptions(launch.environment()),
                spec.commandLine().getOut()::println)) {
                StepBenchmark benchmark = new StepBenchmark(config, device,
                    new StepBenchmark.Plan(warmup, steps, outcome.timing(), wholeSteps
                        ? StepBenchmark.Detail.STEPS : StepBenchmark.Detail.OPERATIONS));
                BenchFiles.write(outcome.json(), benchmark.run(partial -> BenchFiles.write(outcome.json(), partial)));
            }
        }
    }

    @Command(name = "ceilings", mixinStandardHelpOptions = true, sortOptions = false, showDefaultValues = true,
        description = "Measure the most that the machine gives: copies within its memory, and large products.")
    private static final class MeasureCeilings implements Runnable {
        private static final long MIB = 1 << 20;

        private final ProgramContext launch;
        @Spec
        private CommandSpec spec;
        @CommandLine.Mixin
        private BenchOutput outcome;
        @Option(names = "--device", paramLabel = "auto|cpu|cuda", defaultValue = "auto",
            description = "What to measure.")
        private Backend backend;
        @Option(names = "--threads", paramLabel = "N", description = "Compute threads of the CPU (default: all cores).")
        private Integer threads;
        @Option(names = "--copy_mb", paramLabel = "MIB", defaultValue = "2048", description = "What is copied.")
        private long megabytes;
        @Option(names = "--size", paramLabel = "N", defaultValue = "8192",
            description = "Rows and columns of the products' matrices.")
        private int size;

        private MeasureCeilings(ProgramContext launch) {
            this.launch = launch;
        }

        @Override
        public void run() {
            if (megabytes < 1 || size < 1) {
                throw new UserException("--copy_mb and --size must be positive");
            }
            DeviceOptions options = DeviceOptions.of(ThreadCount.of(Optional.ofNullable(threads),
                launch.environment()), RankEnvironment.of(launch.environment()), CommBackend.AUTO,
                launch.environment());
            try (Device device = backend.open(options, spec.commandLine().getOut()::println)) {
                BenchFiles.write(outcome.json(), new CeilingsBenchmark(device, outcome.timing())
                    .run(megabytes * MIB, size));
            }
        }
    }

    @Command(name = "report", mixinStandardHelpOptions = true,
        description = "Gather the results in a directory into report.json and report.md.")
    private static final class Report implements Runnable {
        @Parameters(paramLabel = "DIR", description = "What bench cpu or bench/gpu.sh has written.")
        private Path directory;

        @Override
        public void run() {
            new BenchReport(BenchFiles.read(directory)).write(directory);
        }
    }
}
