package org.isobar.cli.plan;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.bench.measure.Spread;
import org.isobar.fault.UserException;
import org.isobar.os.CommandResult;
import org.isobar.os.FileFault;
import org.isobar.os.TemporaryDirectory;
import org.isobar.plan.PlannedLayout;
import org.isobar.plan.RunCheck;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.report.Comparison;
import org.isobar.report.RunHistory;

/**
 * Runs of 2 and 4 processes on this machine, in each of their layouts, beside their predictions. The median of a run's
 * last steps counts, because the processes' compilers take the cores at first. C2 compiles a method after 5,000 calls,
 * so those of the layers, with 12 calls a step of {@code demo}, after step 416, and the steps that count come later.
 * Rounds over all layouts are interleaved, and the median of a layout's runs counts.
 */
final class LayoutRuns {
    /** Steps that count, the last ones. */
    private static final int COUNTED = 120;
    private static final Duration LIMIT = Duration.ofMinutes(10);
    private static final List<Model> MODELS = List.of(new Model("demo", 192, 6, 6, 15),
        new Model("larger", 384, 8, 4, 10));
    private static final List<Layout> LAYOUTS = List.of(new Layout(1, 1, 2), new Layout(2, 1, 1), new Layout(1, 2, 1),
        new Layout(1, 1, 4), new Layout(2, 1, 2), new Layout(1, 2, 2), new Layout(2, 2, 1), new Layout(1, 4, 1));
    private static final int STEPS = 40;
    private static final int BATCH = 4;
    /** Epochs of {@link #STEPS} steps; nothing is saved or proven beside them. */
    private static final List<String> SHORT = List.of("train", "--config=demo", "--device=cpu", "--threads=1",
        "--set=limit_nsamples=" + BATCH * STEPS, "--set=limit_nsamples_val=4", "--set=keep=0",
        "--set=final_rollout=None", "--set=prove_collectives=0");

    private final List<String> program;
    private final int rounds;
    private final PrintWriter progress;

    private record Model(String name, int embed, int heads, int depth, int epochs) { }

    /** The prediction for a run, and the samples a second of its median step. */
    private record Measured(PlannedLayout planned, double samplesPerSecond) { }

    private record Layout(int tp, int cp, int dp) {
        int ranks() {
            return tp * cp * dp;
        }
    }

    /** Runs {@code program}, the command of this one, {@code rounds} times, and names each run on {@code progress}. */
    LayoutRuns(List<String> program, int rounds, PrintWriter progress) {
        this.program = program;
        this.rounds = rounds;
        this.progress = progress;
    }

    /** Runs and predicts all layouts, for each model. */
    List<List<Comparison>> compare(Machine machine) {
        try (TemporaryDirectory scratch = new TemporaryDirectory("isobar-validate")) {
            List<List<List<Measured>>> runs = new ArrayList<>(); // by model, layout and round
            MODELS.forEach(_ -> runs.add(Stream.<List<Measured>>generate(ArrayList::new).limit(LAYOUTS.size())
                .toList()));
            for (int round = 0; round < rounds; round++) {
                for (int model = 0; model < MODELS.size(); model++) {
                    for (int layout = 0; layout < LAYOUTS.size(); layout++) {
                        Path run = run(scratch.directory(), MODELS.get(model), LAYOUTS.get(layout), round);
                        runs.get(model).get(layout).add(measured(run, machine));
                    }
                }
            }
            return IntStream.range(0, MODELS.size()).mapToObj(model -> runs.get(model).stream()
                .map(rounds -> median(MODELS.get(model).name, rounds)).toList()).toList();
        } catch (IOException failure) {
            throw FileFault.unwritable("runs of several processes", "TMPDIR", failure);
        }
    }

    private static Comparison median(String name, List<Measured> rounds) {
        PlannedLayout planned = rounds.getFirst().planned;
        return new Comparison(name + ", " + planned.layout(), "samples/s", planned.samplesPerSecond(),
            Spread.of(rounds.stream().mapToDouble(Measured::samplesPerSecond).toArray()).median());
    }

    private Measured measured(Path run, Machine machine) {
        Measured measured = new Measured(RunCheck.of(run, machine).planned(), speed(run));
        progress.printf(Locale.ROOT, "  predicted %.4g samples/s, measured %.4g%n",
            measured.planned.samplesPerSecond(), measured.samplesPerSecond);
        progress.flush();
        return measured;
    }

    /** Samples a second of the median of a run's last steps. */
    private static double speed(Path run) {
        double[] seconds = RunHistory.read(run).lines("step").stream()
            .mapToDouble(line -> line.path("seconds").asDouble() / line.path("steps").asInt()).toArray();
        return BATCH / Spread.of(Arrays.copyOfRange(seconds, Math.max(0, seconds.length - COUNTED), seconds.length))
            .median();
    }

    /** Trains, and returns the run's directory. */
    private Path run(Path scratch, Model model, Layout layout, int round) throws IOException {
        String name = model.name + ", tp " + layout.tp + " cp " + layout.cp + " dp " + layout.dp;
        progress.println("Round " + (round + 1) + " of " + rounds + ": " + name);
        progress.flush();
        Path logs = Files.createTempDirectory(scratch, "run");
        List<String> command = new ArrayList<>(program);
        command.addAll(List.of("launch", "--nproc_per_node=" + layout.ranks()));
        command.addAll(SHORT);
        command.addAll(List.of("--num_iters=" + model.epochs * STEPS, "--data_dir=" + scratch.resolve("data"),
            "--expdir=" + logs, "--set=embed_dim=" + model.embed, "--set=num_heads=" + model.heads,
            "--set=depth=" + model.depth, "--tensor_parallel=" + layout.tp, "--context_parallel=" + layout.cp));
        CommandResult.run(LIMIT, command).fault().ifPresent(fault -> {
            throw new UserException("--validate_ranks: the run of " + name + " failed: " + fault);
        });
        try (Stream<Path> files = Files.walk(logs)) {
            return files.filter(file -> file.endsWith("out.log")).findAny().orElseThrow().getParent();
        }
    }
}
