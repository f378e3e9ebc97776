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
 * {@code isobar bench}: measures the speed of training on this machine. Results are JSON files, which
 * {@code bench report} gathers. {@code bench cpu} and {@code bench/gpu.sh} run all measurements, with PyTorch's as
 * well.
 */
@Command(name = BenchCommand.NAME, mixinStandardHelpOptions = true, synopsisSubcommandLabel = "COMMAND",
    description = BenchCommand.SUMMARY)
public final class BenchCommand implements Runnable {
    public static final String NAME = "bench";
    public static final String SUMMARY = "Measure the speed of training on this machine.";

    @Spec
    private CommandSpec spec;

    private BenchCommand() { }

    /** The command with its subcommands. {@code step} takes the options of a run. */
    public static CommandLine commandLine(ProgramContext context) {
        CommandLine step = new CommandLine(new Step(context));
        ConfigOptions.declare(step.getCommandSpec());
        CommandLine scaling = new CommandLine(new BenchScalingCommand(context, BenchScalingCommand::process));
        ConfigOptions.declare(scaling.getCommandSpec());
        return new CommandLine(new BenchCommand()).addSubcommand(step).addSubcommand(scaling)
            .addSubcommand(new MeasureCeilings(context)).addSubcommand(new BenchCpuCommand(context))
            .addSubcommand(new BenchLoaderCommand(context)).addSubcommand(new BenchCalibrateCommand(context))
            .addSubcommand(new Report());
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(),
            "Name a command: " + String.join(", ", spec.subcommands().keySet()));
    }

    @Command(name = "step", mixinStandardHelpOptions = true, sortOptions = false, abbreviateSynopsis = true,
        showDefaultValues = true,
        description =
        "Measure a preset's training step and each operation in it, with one batch that stays on the device.")
    private static final class Step implements Runnable {
        private final ProgramContext context;
        @Spec
        private CommandSpec spec;
        @CommandLine.Mixin
        private BenchOutput outcome;
        @Option(names = "--warmup_steps", paramLabel = "N", defaultValue = "5", description =
            "Steps before the measurement.")
        private int warmup;
        @Option(names = "--steps", paramLabel = "N", defaultValue = "20", description = "Steps to measure.")
        private int steps;
        @Option(names = "--whole_steps", description = "Measure whole steps only, not each operation.")
        private boolean wholeSteps;

        private Step(ProgramContext context) {
            this.context = context;
        }

        @Override
        public void run() {
            RunConfig config = ConfigOptions.resolve(spec.commandLine().getParseResult(), context);
            try (Device device = config.device().open(config.deviceOptions(context.environment()),
                spec.commandLine().getOut()::println)) {
                StepBenchmark benchmark = new StepBenchmark(config, device,
                    new StepBenchmark.Plan(warmup, steps, outcome.timing(), wholeSteps
                        ? StepBenchmark.Detail.STEPS : StepBenchmark.Detail.OPERATIONS));
                BenchFiles.write(outcome.json(), benchmark.run(partial -> BenchFiles.write(outcome.json(), partial)));
            }
        }
    }

    @Command(name = "ceilings", mixinStandardHelpOptions = true, sortOptions = false, showDefaultValues = true,
        description = "Measure the machine's limits: bandwidth of memory copies and speed of large matrix products.")
    private static final class MeasureCeilings implements Runnable {
        private static final long MIB = 1 << 20;

        private final ProgramContext context;
        @Spec
        private CommandSpec spec;
        @CommandLine.Mixin
        private BenchOutput outcome;
        @Option(names = "--device", paramLabel = "auto|cpu|cuda", defaultValue = "auto",
            description = "Device to measure.")
        private Backend backend;
        @Option(names = "--threads", paramLabel = "N", description = "Compute threads of the CPU (default: all cores).")
        private Integer threads;
        @Option(names = "--copy_mb", paramLabel = "MIB", defaultValue = "2048", description =
            "Size of the copy, in MiB.")
        private long megabytes;
        @Option(names = "--size", paramLabel = "N", defaultValue = "8192",
            description = "Rows and columns of the matrices.")
        private int size;

        private MeasureCeilings(ProgramContext context) {
            this.context = context;
        }

        @Override
        public void run() {
            if (megabytes < 1 || size < 1) {
                throw new UserException("--copy_mb and --size must be positive");
            }
            DeviceOptions options = DeviceOptions.of(ThreadCount.of(Optional.ofNullable(threads),
                context.environment()), RankEnvironment.of(context.environment()), CommBackend.AUTO,
                context.environment());
            try (Device device = backend.open(options, spec.commandLine().getOut()::println)) {
                BenchFiles.write(outcome.json(), new CeilingsBenchmark(device, outcome.timing())
                    .run(megabytes * MIB, size));
            }
        }
    }

    @Command(name = "report", mixinStandardHelpOptions = true,
        description = "Gather the results in a directory into report.json and report.md.")
    private static final class Report implements Runnable {
        @Parameters(paramLabel = "DIR", description = "Directory that bench cpu or bench/gpu.sh wrote to.")
        private Path directory;

        @Override
        public void run() {
            new BenchReport(BenchFiles.read(directory)).write(directory);
        }
    }
}
