package org.isobar.bench.suite;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.isobar.bench.measure.TrainingTrace;
import org.isobar.bench.report.BenchFiles;

/** Measures runs of {@code isobar train} on synthetic data from outside. */
final class TrainingParts {
    private static final Duration SHORT = Duration.ofSeconds(60);
    private static final Duration MEDIUM = Duration.ofSeconds(120);
    private static final Duration LONG = Duration.ofSeconds(600);
    private static final int TINY_EPOCH = 12; // steps: two years of 12 samples
    private static final int TINY_BATCH = 2;
    private static final int FLAT_EPOCHS = 834; // 10,008 steps

    private final SuiteSetup setup;
    private final PartRunner parts;
    private final Path scratch;
    private final boolean rehearsed;
    private final String config;
    private final int batch;

    /** @param scratch directory for data and run directories */
    TrainingParts(SuiteSetup setup, PartRunner parts, Path scratch) {
        this.setup = setup;
        this.parts = parts;
        this.scratch = scratch;
        rehearsed = setup.size() == SuiteSize.REHEARSED;
        config = rehearsed ? "tiny" : "demo";
        batch = rehearsed ? TINY_BATCH : 4;
    }

    /** Measures the time to the first steps with existing data, and that of {@code isobar --version}. */
    void startup() {
        if (!data()) {
            return;
        }
        for (int i = 1; i <= (rehearsed ? 1 : 5); i++) {
            List<String> version = new ArrayList<>(setup.isobar());
            version.add("--version");
            parts.run(new PartRunner.Plan("version-" + i, version, SHORT));
            train("trace-startup-" + i, new TraceReader.Run(config, TrainingTrace.ALONE, 1, batch, 2), 1, List.of(),
                SHORT);
        }
    }

    /** Measures one, two and four ranks. The model has four heads, so that every number of ranks divides them. */
    void ranks() {
        if (!data()) {
            return;
        }
        int steps = rehearsed ? 2 : 40;
        int epochs = rehearsed ? 2 : 6;
        List<String> heads = List.of("--set", "num_heads=4");
        train("trace-ranks-1", new TraceReader.Run(config, TrainingTrace.ALONE, 1, batch, steps), epochs, heads,
            MEDIUM);
        for (int ranks = 2; ranks <= (rehearsed ? 2 : 4); ranks *= 2) {
            for (String split : List.of("tp", "cp")) {
                List<String> options = new ArrayList<>(heads);
                options.add((split.equals("tp") ? "--tensor_parallel=" : "--context_parallel=") + ranks);
                train("trace-ranks-" + split + "-" + ranks,
                    new TraceReader.Run(config, split, ranks, batch, steps), epochs, options, MEDIUM);
            }
        }
    }

    /** Runs ten thousand steps of preset {@code tiny} without checkpoints. */
    void flat() {
        train("trace-flat", new TraceReader.Run("tiny", TrainingTrace.ALONE, 1, TINY_BATCH, TINY_EPOCH),
            rehearsed ? 2 : FLAT_EPOCHS, List.of(), LONG);
    }

    /** Generates the data with a first run unless they exist; returns whether they exist. */
    private boolean data() {
        return scratch.resolve(config).toFile().isDirectory()
            || run("data-" + config, new TraceReader.Run(config, TrainingTrace.ALONE, 1, batch, 2), 1, List.of(), LONG,
                (text, seconds, usage) -> { });
    }

    private void train(String name, TraceReader.Run run, int epochs, List<String> options, Duration limit) {
        TraceReader reader = new TraceReader(run, parts.timing());
        boolean done = run(name, run, epochs, options, limit, reader);
        TrainingTrace trace = reader.trace();
        if (done || trace.epochs().size() > 1) { // a stopped run has epochs after the JVM compiled its steps
            BenchFiles.write(parts.json(name), trace);
        }
    }

    private boolean run(String name, TraceReader.Run run, int epochs, List<String> options, Duration limit,
        WatchedProcess.Listener listener) {
        List<String> command = new ArrayList<>(setup.isobar());
        if (run.ranks() > 1) {
            command.addAll(List.of("launch", "--nproc_per_node=" + run.ranks()));
        }
        command.addAll(List.of("train", "--device=cpu", "--config=" + run.config(), "--data_dir=" + scratch,
            "--expdir=" + scratch.resolve("runs").resolve(name), "--keep=0",
            "--set", "limit_nsamples=" + run.steps() * run.batch(), "--set", "limit_nsamples_val=" + run.batch(),
            "--set", "num_iters=" + epochs * run.steps()));
        command.addAll(options);
        return parts.run(new PartRunner.Plan(name, command, limit), listener);
    }
}
