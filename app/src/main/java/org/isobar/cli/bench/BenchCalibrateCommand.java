package org.isobar.cli.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;
import org.isobar.backend.DeviceOptions;
import org.isobar.bench.report.BenchFiles;
import org.isobar.cli.job.JavaCommand;
import org.isobar.cli.options.ProgramContext;
import org.isobar.config.ConfigRequest;
import org.isobar.config.ThreadCount;
import org.isobar.device.Device;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.job.JobDevice;
import org.isobar.distributed.job.JobSecret;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.distributed.job.TimeLimits;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.CommandResult;
import org.isobar.os.ShellWords;
import org.isobar.os.TemporaryDirectory;
import org.isobar.plan.calibrate.CheckedTimes;
import org.isobar.plan.calibrate.CpuCalibration;
import org.isobar.plan.calibrate.JobCalibration;
import org.isobar.plan.calibrate.MachineFileWriter;
import org.isobar.plan.calibrate.StepChecks;
import org.isobar.plan.machine.Machine;
import org.isobar.train.JobMember;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code isobar bench calibrate}: measures this machine's CPU and writes a machine file for {@code isobar plan}. */
@Command(name = "calibrate", mixinStandardHelpOptions = true, sortOptions = false, showDefaultValues = true,
    description = "Measure this machine's CPU and write a machine file for isobar plan. Run nothing else meanwhile. "
        + "In a job of 4 processes, measure only what 2 and 4 of them do at once, and write it as JSON.")
final class BenchCalibrateCommand implements Callable<Integer> {
    private static final String IN_JOB = "launch --nproc_per_node=" + JobCalibration.PROCESSES
        + " bench calibrate --out=";
    private static final Duration LIMIT = Duration.ofMinutes(20);

    private final ProgramContext context;
    @Spec
    private CommandSpec spec;
    @Option(names = "--out", paramLabel = "FILE", required = true, description = "File to write.")
    private Path out;
    @Option(names = "--name", paramLabel = "NAME", defaultValue = "this-machine", description = "Name of the machine.")
    private String name;
    @Option(names = "--steps", paramLabel = "N", defaultValue = "2",
        description = "Steps of each measured size in each of five rounds.")
    private int steps;
    @Option(names = "--no_collectives", description = "Do not measure 2 and 4 processes: their collectives and, if "
        + "each has a core, the operations of all of them at once.")
    private boolean noCollectives;
    @Option(names = "--checks", paramLabel = "FILE", description = "In turn with the calibration, also measure the "
        + "training steps that isobar plan --validate predicts, and write their times to FILE; in a job, to --out.")
    private Path checks;

    BenchCalibrateCommand(ProgramContext context) {
        this.context = context;
    }

    @Override
    public Integer call() throws IOException {
        if (steps < 2) {
            throw new UserException("--steps=" + steps + " must be at least 2");
        }
        RankEnvironment ranks = RankEnvironment.of(context.environment());
        if (ranks.worldSize() > 1) {
            measureInJob(ranks);
            return 0;
        }
        Machine machine;
        List<Double> checked;
        try (Device device = device(OptionalInt.empty(), ranks)) {
            Optional<StepChecks> stepChecks = Optional.ofNullable(checks)
                .map(_ -> new StepChecks(device, preset(context.environment())));
            machine = new CpuCalibration(device, preset(context.environment()), steps, this::say)
                .run(name, stepChecks);
            checked = stepChecks.map(StepChecks::seconds).orElse(List.of());
        }
        JobCalibration.Times job = noCollectives ? JobCalibration.Times.nothing() : job();
        if (checks != null) {
            BenchFiles.write(checks, new CheckedTimes(checked, job.layouts()));
        }
        String text = MachineFileWriter.text(machine.with(job.operations()), job.collectives());
        new AtomicFile("machine file", out, "--out").write(text.getBytes(StandardCharsets.UTF_8));
        say("Written: " + out + ". Plan with " + ShellWords.join(List.of("--machine=" + out)));
        return 0;
    }

    private ConfigRequest preset(Map<String, String> environment) {
        return new ConfigRequest(context.defaultPresets(), "demo", environment);
    }

    private void say(String line) {
        spec.commandLine().getOut().println(line);
        spec.commandLine().getOut().flush();
    }

    private JobDevice device(OptionalInt threads, RankEnvironment ranks) {
        return Backend.CPU.open(DeviceOptions.of(threads.isPresent() ? threads
            : ThreadCount.of(Optional.empty(), context.environment()), ranks, CommBackend.AUTO,
            context.environment()), _ -> { });
    }

    /** Measures this job; every rank does so. */
    private void measureInJob(RankEnvironment ranks) {
        if (ranks.worldSize() != JobCalibration.PROCESSES) {
            throw new UserException("bench calibrate measures one process, or a job of " + JobCalibration.PROCESSES
                + ", not of " + ranks.worldSize() + ": ./isobar " + IN_JOB + "FILE");
        }
        ProcessGrid grid = ProcessGrid.fit(ProcessGrid.DEFAULT_ORDER, ranks.worldSize(), 1, 1, 1);
        JobMember member = new JobMember(ranks, grid, JobSecret.of(context.environment()),
            Map.of("command", "bench calibrate"), TimeLimits.DEFAULT, CommBackend.AUTO);
        JobCalibration.Settings settings = new JobCalibration.Settings(
            processes -> device(OptionalInt.of(Math.max(1, Runtime.getRuntime().availableProcessors() / processes)),
                ranks), this::preset, context.environment(), steps, checks != null);
        try (JobDevice device = device(OptionalInt.empty(), ranks)) {
            JobCalibration.Times times = member.run(device, communicators ->
                new JobCalibration(device, communicators, settings).measure());
            if (ranks.rank() == 0) {
                BenchFiles.write(out, times);
            }
        }
    }

    /** Measures processes that this one starts. */
    private JobCalibration.Times job() {
        say("Collectives of 2 and 4 processes, and operations of all of them at once if each has a core");
        try (TemporaryDirectory scratch = new TemporaryDirectory("isobar-calibrate")) {
            Path file = scratch.directory().resolve("times.json");
            List<String> command = new ArrayList<>(JavaCommand.command(spec.root().userObject().getClass()));
            command.addAll(List.of((IN_JOB + file).split(" ", IN_JOB.split(" ").length)));
            command.add("--steps=" + steps);
            if (checks != null) {
                command.add("--checks=" + checks);
            }
            CommandResult.run(LIMIT, command).fault().ifPresent(fault -> {
                throw new UserException("the times of several processes could not be measured: " + fault + "; add "
                    + "--no_collectives, or try ./isobar " + IN_JOB + "FILE");
            });
            return BenchFiles.read(file, JobCalibration.Times.class);
        }
    }
}
