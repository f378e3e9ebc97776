package org.isobar.cli.plan;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.IntStream;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;
import org.isobar.backend.DeviceOptions;
import org.isobar.bench.report.BenchFiles;
import org.isobar.cli.options.ProgramContext;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.ThreadCount;
import org.isobar.device.Device;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.CommandResult;
import org.isobar.os.HostMachine;
import org.isobar.os.TemporaryDirectory;
import org.isobar.plan.PlanRequest;
import org.isobar.plan.Program;
import org.isobar.plan.calibrate.LayoutSteps;
import org.isobar.plan.calibrate.StepChecks;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MachineFile;
import org.isobar.plan.report.Comparison;
import org.isobar.plan.report.ValidationTable;

/** {@code isobar plan --validate}: writes how well measurements are predicted. */
final class PlanValidation {
    private static final int LARGE = 16_384;
    private static final Duration LIMIT = Duration.ofMinutes(30);

    private PlanValidation() { }

    /**
     * Writes the page. Measures steps of this CPU once with each of {@code machines}, and of several ranks if {@code
     * program} is given, the command of this one; the medians of the predictions and of the measurements count.
     */
    static void write(Path file, List<Supplier<Machine>> machines, Optional<List<String>> program,
        ProgramContext context, PrintWriter out) {
        List<List<Comparison>> steps = new ArrayList<>(); // by round
        List<List<List<Comparison>>> ranks = new ArrayList<>(); // by round and model
        for (Supplier<Machine> each : machines) {
            Machine machine = each.get();
            steps.add(steps(machine, context));
            out.println("Steps of one process: " + Comparison.spread(steps.getLast()));
            out.flush();
            program.ifPresent(command -> {
                ranks.add(LayoutSteps.compare(layouts(command, out), preset(context), machine));
                ranks.getLast().forEach(model -> model.forEach(row -> out.printf(Locale.ROOT,
                    "%s: predicted %.4g samples/s, measured %.4g%n", row.what(), row.predicted(), row.measured())));
                out.flush();
            });
        }
        String facts = "on " + LocalDate.now() + ", " + HostMachine.processor() + ", "
            + Runtime.getRuntime().availableProcessors() + " cores"
            + (machines.size() > 1 ? ", medians of " + machines.size() + " rounds with a calibration each" : "");
        String page = ValidationTable.of(request(context, 16, "64"), request(context, LARGE, "" + LARGE),
            steps.isEmpty() ? Optional.empty() : Optional.of(Comparison.medians(steps)),
            ranks.isEmpty() ? Optional.empty() : Optional.of(IntStream.range(0, ranks.getFirst().size())
                .mapToObj(model -> Comparison.medians(ranks.stream().map(round -> round.get(model)).toList()))
                .toList()), facts);
        new AtomicFile("validation", file, "--validate").write(page.getBytes(StandardCharsets.UTF_8));
        out.print(page);
        out.flush();
    }

    /** Measures this machine with {@code program}, the command of this one. */
    static Machine calibrated(List<String> program, PrintWriter out) {
        out.println("Calibration");
        out.flush();
        return measured(program, "bench calibrate", "--validate_calibrations: the calibration", file ->
            MachineFile.load(file.toString()));
    }

    /** Measures steps of several ranks with {@code program}, the command of this one. */
    static List<LayoutSteps.Time> layouts(List<String> program, PrintWriter out) {
        List<LayoutSteps.Time> times = new ArrayList<>();
        for (int ranks : LayoutSteps.RANKS) {
            out.println("Steps of " + ranks + " ranks in each layout");
            out.flush();
            times.addAll(List.of(measured(program, "launch --nproc_per_node=" + ranks + " bench calibrate --layouts",
                "--validate_ranks: the measurement of " + ranks + " ranks", file ->
                    BenchFiles.read(file, LayoutSteps.Time[].class))));
        }
        return times;
    }

    private static <T> T measured(List<String> program, String arguments, String what, Function<Path, T> read) {
        try (TemporaryDirectory scratch = new TemporaryDirectory("isobar-validate")) {
            Path file = scratch.directory().resolve("measured");
            List<String> command = new ArrayList<>(program);
            command.addAll(List.of(arguments.split(" ")));
            command.add("--out=" + file);
            CommandResult.run(LIMIT, command).fault().ifPresent(fault -> {
                throw new UserException(what + " failed: " + fault);
            });
            return read.apply(file);
        }
    }

    private static ConfigRequest preset(ProgramContext context) {
        return new ConfigRequest(context.defaultPresets(), "demo", Map.of());
    }

    private static List<Comparison> steps(Machine machine, ProgramContext context) {
        DeviceOptions options = DeviceOptions.of(ThreadCount.of(Optional.empty(), context.environment()),
            RankEnvironment.of(context.environment()), CommBackend.AUTO, context.environment());
        try (Device device = Backend.CPU.open(options, _ -> { })) {
            return StepChecks.run(device, preset(context), machine);
        }
    }

    private static PlanRequest request(ProgramContext context, int ranks, String batch) {
        return new PlanRequest(ConfigLoader.load(new ConfigRequest(context.defaultPresets(), "mp", Map.of())
            .with("global_batch_size", batch)), MachineFile.load("perlmutter-a100-40"), Program.ISOBAR, ranks,
            PlanRequest.Fixed.NOTHING);
    }
}
