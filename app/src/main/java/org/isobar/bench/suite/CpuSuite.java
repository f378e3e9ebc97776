package org.isobar.bench.suite;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;

import org.isobar.bench.measure.Timing;
import org.isobar.bench.report.BenchFiles;
import org.isobar.bench.report.BenchReport;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import org.isobar.os.TemporaryDirectory;

/** The CPU benchmark: runs its sections one after another and writes a report. */
public final class CpuSuite {
    private static final Duration SHORT = Duration.ofSeconds(90);

    private final SuiteSetup setup;
    private final PartRunner parts;

    /**
     * Creates the benchmark.
     *
     * @param directory directory for the results, which it creates
     * @param progress  receives one line for each part
     * @throws UserException if the directory is not empty or cannot be created
     */
    public CpuSuite(SuiteSetup setup, Path directory, Consumer<String> progress) {
        this.setup = setup;
        Path results = directory.toAbsolutePath().normalize();
        requireEmpty(results);
        parts = new PartRunner(results, setup.size().timing(), setup.budget(), progress);
    }

    private static void requireEmpty(Path directory) {
        try {
            Files.createDirectories(directory);
            try (Stream<Path> entries = Files.list(directory)) {
                if (entries.findAny().isPresent()) {
                    throw new UserException(directory + " is not empty; name a new directory for the results");
                }
            }
        } catch (IOException failure) {
            throw FileFault.unwritable("results to " + directory, "DIR", failure);
        }
    }

    /**
     * Runs the benchmark.
     *
     * @param facts facts about the run, which are written before those about the machine
     * @return number of failed parts
     */
    public int run(Map<String, String> facts) {
        facts.forEach(parts::fact);
        MachineFacts.all(setup.size()).forEach(parts::fact);
        try (TemporaryDirectory scratch = new TemporaryDirectory("isobar-bench")) {
            for (SuiteSection section : SuiteSection.values()) {
                if (setup.sections().contains(section)) {
                    run(section, scratch.directory());
                    report();
                }
            }
        }
        return parts.failed();
    }

    private void run(SuiteSection section, Path scratch) {
        TrainingParts training = new TrainingParts(setup, parts, scratch);
        Runnable work = switch (section) {
            case CEILINGS -> this::ceilings;
            case STARTUP -> training::startup;
            case LOADER -> new LoaderParts(setup, parts, scratch.resolve("loader"))::run;
            case GROWTH -> () -> {
                new GrowthParts(setup, parts).run();
                training.ranks();
            };
            case FLAT -> training::flat;
            case STEPS -> new StepParts(setup, parts, this::report)::run;
        };
        work.run();
    }

    private void report() {
        new BenchReport(BenchFiles.read(parts.directory())).write(parts.directory());
    }

    /** Measures products of two sizes, because the larger may be slower, and copies by one thread and by all. */
    private void ceilings() {
        boolean rehearsed = setup.size() == SuiteSize.REHEARSED;
        ceilings("ceilings-isobar-1-thread", List.of("--threads=1", rehearsed ? "--size=32" : "--size=1024"));
        ceilings("ceilings-isobar-all-threads", List.of(rehearsed ? "--size=32" : "--size=1024"));
        ceilings("ceilings-isobar-large", List.of(rehearsed ? "--size=64" : "--size=4096"));
    }

    private void ceilings(String name, List<String> options) {
        List<String> command = new ArrayList<>(setup.isobar());
        command.addAll(List.of("bench", "ceilings", "--device=cpu", "--json=" + parts.json(name),
            setup.size() == SuiteSize.REHEARSED ? "--copy_mb=1" : "--copy_mb=512"));
        command.addAll(options);
        if (parts.timing() == Timing.REHEARSED) {
            command.add("--rehearse");
        }
        parts.run(new PartRunner.Plan(name, command, SHORT));
    }
}
