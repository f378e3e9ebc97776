package org.isobar.cli.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;
import org.isobar.backend.DeviceOptions;
import org.isobar.bench.report.BenchFiles;
import org.isobar.cli.job.JavaCommand;
import org.isobar.cli.options.ProgramContext;
import org.isobar.config.ConfigRequest;
import org.isobar.config.ThreadCount;
import org.isobar.device.Device;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.job.JobDevice;
import org.isobar.distributed.job.JobSecret;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.distributed.job.TimeLimits;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.TemporaryDirectory;
import org.isobar.plan.calibrate.AwaitedCollectives;
import org.isobar.plan.calibrate.CpuCalibration;
import org.isobar.plan.calibrate.LayoutSteps;
import org.isobar.plan.calibrate.MachineFileWriter;
import org.isobar.plan.calibrate.OverlappedCollectives;
import org.isobar.plan.machine.CollectiveTable;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MeasuredOperation;
import org.isobar.train.JobMember;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code isobar bench calibrate}: measures this machine's CPU and writes a machine file for {@code isobar plan}. */
@Command(name = "calibrate", mixinStandardHelpOptions = true, sortOptions = false, showDefaultValues = true,
    description = "Measure this machine's CPU and write a machine file for isobar plan. Run nothing else meanwhile. "
        + "In a job of several processes, measure only what they do at once, and write it as JSON.")
final class BenchCalibrateCommand implements Callable<Integer> {
    private static final int JOB_SECONDS = 600;

    private final ProgramContext context;
    @Spec
    private CommandSpec spec;
    @Option(names = "--out", paramLabel = "FILE", required = true, description = "File to write.")
    private Path out;
    @Option(names = "--name", paramLabel = "NAME", defaultValue = "this-machine", description = "Name of the machine.")
    private String name;
    @Option(names = "--steps", paramLabel = "N", defaultValue = "4",
        description = "Steps of each measured size in each of two rounds.")
    private int steps;
    @Option(names = "--no_collectives", description = "Do not measure 2 and 4 processes: their collectives and, if "
        + "each has a core, the operations of all of them at once.")
    private boolean noCollectives;
    @Option(names = "--layouts", description = "In a job of 2 or 4 processes, measure training steps in each of its "
        + "layouts instead, for isobar plan --validate_ranks.")
    private boolean layouts;

    /**
     * The measurements of a job.
     *
     * @param collectives of all its processes
     * @param operations  of one process while the others do the same; none if each has less than a core: then an
     *                    operation takes as many times longer as there are fewer cores
     */
    private record JobTimes(List<CollectiveTable.Row> collectives, List<MeasuredOperation> operations) { }

    BenchCalibrateCommand(ProgramContext context) {
        this.context = context;
    }

    @Override
    public Integer call() throws IOException {
        if (steps < 2) {
            throw new UserException("--steps=" + steps + " must be at least 2");
        }
        RankEnvironment ranks = RankEnvironment.of(context.environment());
        if (layouts && ranks.worldSize() == 1) {
            throw new UserException("--layouts needs a job of 2 or 4 processes: ./isobar launch --nproc_per_node=2 "
                + "bench calibrate --layouts --out=FILE");
        }
        if (ranks.worldSize() > 1 && !LayoutSteps.RANKS.contains(ranks.worldSize())) {
            throw new UserException("bench calibrate measures one process, or a job of 2 or 4, not of "
                + ranks.worldSize() + ": ./isobar launch --nproc_per_node=4 bench calibrate --out=FILE");
        }
        if (ranks.worldSize() > 1) {
            Object times = inJob(ranks, layouts ? this::layoutTimes : this::jobTimes);
            if (ranks.rank() == 0) {
                BenchFiles.write(out, times);
            }
            return 0;
        }
        Machine machine;
        try (Device device = Backend.CPU.open(options(ranks), this::say)) {
            machine = new CpuCalibration(device, preset(context.environment()), steps, this::say).run(name);
        }
        List<CollectiveTable.Row> rows = new ArrayList<>();
        NavigableMap<Integer, List<MeasuredOperation>> shared = new TreeMap<>();
        for (int processes : noCollectives ? List.<Integer>of() : LayoutSteps.RANKS) {
            JobTimes times = job(processes);
            rows.addAll(times.collectives);
            if (!times.operations.isEmpty()) {
                shared.put(processes, times.operations);
            }
        }
        String text = MachineFileWriter.text(machine.with(shared), rows);
        new AtomicFile("machine file", out, "--out").write(text.getBytes(StandardCharsets.UTF_8));
        say("Written: " + out + ". Plan with --machine=" + out);
        return 0;
    }

    private ConfigRequest preset(Map<String, String> environment) {
        return new ConfigRequest(context.defaultPresets(), "demo", environment);
    }

    private void say(String line) {
        spec.commandLine().getOut().println(line);
        spec.commandLine().getOut().flush();
    }

    private DeviceOptions options(RankEnvironment ranks) {
        return DeviceOptions.of(ThreadCount.of(Optional.empty(), context.environment()), ranks, CommBackend.AUTO,
            context.environment());
    }

    /** Measures this job; every rank does so. */
    private Object inJob(RankEnvironment ranks, BiFunction<Device, Communicators, ?> measurement) {
        ProcessGrid grid = ProcessGrid.fit(ProcessGrid.DEFAULT_ORDER, ranks.worldSize(), 1, 1, 1);
        JobMember member = new JobMember(ranks, grid, JobSecret.of(context.environment()),
            Map.of("command", "bench calibrate"), TimeLimits.DEFAULT, CommBackend.AUTO);
        try (JobDevice device = Backend.CPU.open(options(ranks), _ -> { })) {
            return member.<Object>run(device, communicators -> measurement.apply(device, communicators));
        }
    }

    private List<LayoutSteps.Time> layoutTimes(Device device, Communicators communicators) {
        return LayoutSteps.measure(device, communicators, preset(context.environment()));
    }

    private JobTimes jobTimes(Device device, Communicators communicators) {
        Communicator all = communicators.along(Axis.DP);
        int processes = all.group().size();
        Runnable together = () -> all.barrier().await();
        CpuCalibration calibration = new CpuCalibration(device, preset(Map.of()), steps, _ -> { });
        List<MeasuredOperation> operations = List.of();
        if (haveCores(processes)) {
            operations = calibration.operations(processes, together);
        } else {
            calibration.compile(processes, together); // the steps that the collectives are measured in
        }
        List<CollectiveTable.Row> collectives = new ArrayList<>(new OverlappedCollectives(device, all).measure(1));
        collectives.addAll(new AwaitedCollectives(device, communicators, preset(context.environment())).measure(1));
        return new JobTimes(collectives, operations);
    }

    private static boolean haveCores(int processes) {
        return processes <= Runtime.getRuntime().availableProcessors();
    }

    /** Measures processes that this one starts. */
    private JobTimes job(int processes) throws IOException {
        say("Collectives of " + processes + " processes" + (haveCores(processes)
            ? ", and steps of all of them at once" : ""));
        try (TemporaryDirectory scratch = new TemporaryDirectory("isobar-calibrate")) {
            Path file = scratch.directory().resolve("times.json");
            List<String> command = new ArrayList<>(JavaCommand.command(spec.root().userObject().getClass()));
            command.addAll(List.of("launch", "--nproc_per_node=" + processes, "bench", "calibrate", "--out=" + file,
                "--steps=" + steps));
            ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD);
            builder.environment().putAll(new HashMap<>(context.environment()));
            Process job = builder.start();
            boolean ended = job.waitFor(JOB_SECONDS, TimeUnit.SECONDS);
            if (!ended || job.exitValue() != 0) {
                job.destroyForcibly();
                throw new UserException("the times of " + processes + " processes could not be measured; try "
                    + "./isobar launch --nproc_per_node=" + processes + " bench calibrate --out=FILE, or add "
                    + "--no_collectives");
            }
            return BenchFiles.read(file, JobTimes.class);
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
            throw new UserException("interrupted while several processes were measured");
        }
    }
}
