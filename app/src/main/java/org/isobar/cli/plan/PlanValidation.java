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
import java.util.function.Supplier;
import java.util.stream.IntStream;

import org.isobar.bench.report.BenchFiles;
import org.isobar.cli.options.ProgramContext;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.CommandResult;
import org.isobar.os.HostMachine;
import org.isobar.os.TemporaryDirectory;
import org.isobar.plan.PlanRequest;
import org.isobar.plan.Program;
import org.isobar.plan.calibrate.CheckedTimes;
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

    /** A calibration of this machine, and steps that were measured in turn with it. */
    record Round(Machine machine, CheckedTimes times) { }

    /** Writes the page; the medians of the rounds' predictions and measurements count. */
    static void write(Path file, List<Supplier<Round>> rounds, ProgramContext context, PrintWriter out) {
        List<List<Comparison>> steps = new ArrayList<>(); // by round
        List<List<List<Comparison>>> ranks = new ArrayList<>(); // by round and model
        for (Supplier<Round> each : rounds) {
            Round round = each.get();
            steps.add(StepChecks.compare(round.times.steps(), preset(context), round.machine));
            out.println("Steps of one process: " + Comparison.spread(steps.getLast()));
            if (!round.times.layouts().isEmpty()) {
                ranks.add(LayoutSteps.compare(round.times.layouts(), preset(context), round.machine));
                ranks.getLast().forEach(model -> model.forEach(row -> out.printf(Locale.ROOT,
                    "%s: predicted %.4g samples/s, measured %.4g%n", row.what(), row.predicted(), row.measured())));
            }
            out.flush();
        }
        String facts = "on " + LocalDate.now() + ", " + HostMachine.processor() + ", "
            + Runtime.getRuntime().availableProcessors() + " cores"
            + (rounds.size() > 1 ? ", medians of " + rounds.size() + " rounds with a calibration each" : "");
        String page = ValidationTable.of(request(context, 16, "64"), request(context, LARGE, "" + LARGE),
            steps.isEmpty() ? Optional.empty() : Optional.of(Comparison.medians(steps)),
            ranks.isEmpty() ? Optional.empty() : Optional.of(IntStream.range(0, ranks.getFirst().size())
                .mapToObj(model -> Comparison.medians(ranks.stream().map(round -> round.get(model)).toList()))
                .toList()), facts);
        new AtomicFile("validation", file, "--validate").write(page.getBytes(StandardCharsets.UTF_8));
        out.print(page);
        out.flush();
    }

    /**
     * Measures this machine.
     *
     * @param program the command of this program
     * @param ranks   whether steps of several ranks are measured, too
     */
    static Round calibrated(List<String> program, boolean ranks, PrintWriter out) {
        out.println("Calibration, and measured steps in turn with it");
        out.flush();
        try (TemporaryDirectory scratch = new TemporaryDirectory("isobar-validate")) {
            Path machine = scratch.directory().resolve("machine.yaml");
            Path times = scratch.directory().resolve("times.json");
            List<String> command = new ArrayList<>(program);
            command.addAll(List.of("bench", "calibrate", "--out=" + machine, "--checks=" + times));
            if (!ranks) {
                command.add("--no_collectives");
            }
            CommandResult.run(LIMIT, command).fault().ifPresent(fault -> {
                throw new UserException("--validate_calibrations: the calibration failed: " + fault);
            });
            return new Round(MachineFile.load(machine.toString()), BenchFiles.read(times, CheckedTimes.class));
        }
    }

    private static ConfigRequest preset(ProgramContext context) {
        return new ConfigRequest(context.defaultPresets(), "demo", Map.of());
    }

    private static PlanRequest request(ProgramContext context, int ranks, String batch) {
        return new PlanRequest(ConfigLoader.load(new ConfigRequest(context.defaultPresets(), "mp", Map.of())
            .with("global_batch_size", batch)), MachineFile.load("perlmutter-a100-40"), Program.ISOBAR, ranks,
            PlanRequest.Fixed.NOTHING);
    }
}
