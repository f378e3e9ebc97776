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

/** The benchmark of the CPU: everything in turn, in one run, and a report of it. */
public final class CpuSuite {
    private static final Duration SHORT = Duration.ofSeconds(90);

    private final SuiteSetup setup;
    private final PartRunner parts;

    /**
     * The benchmark that will leave its results in {@code directory}.
     *
     * @param progress is told of each part
     * @throws UserException if the directory has anything in it, or cannot be made
     */
    public CpuSuite(SuiteSetup setup, Path directory, Consumer<String> progress) {
        this.setup = setup;
        Path place = directory.toAbsolutePath().normalize();
        requireEmpty(place);
        parts = new PartRunner(place, setup.extent().timing(), setup.budget(), progress);
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
     * Measures.
     *
     * @param facts of the run, noted before those of the machine
     * @return how many parts have failed
     */
    public int run(Map<String, String> facts) {
        facts.forEach(parts::fact);
        MachineFacts.all(setup.extent()).forEach(parts::fact);
        try (TemporaryDirectory scratch = new TemporaryDirectory()) {
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

    /** Products of two sizes, for the largest may not be the fastest; copies by one thread and by all. */
    private void ceilings() {
        boolean rehearsed = setup.extent() == SuiteSize.REHEARSED;
        ceilings("ceilings-isobar-1-thread", List.of("--threads=1", rehearsed ? "--size=32" : "--size=1024"));
        ceilings("ceilings-isobar-all-threads", List.of(rehearsed ? "--size=32" : "--size=1024"));
        ceilings("ceilings-isobar-large", List.of(rehearsed ? "--size=64" : "--size=4096"));
    }

    private void ceilings(String name, List<String> options) {
        List<String> command = new ArrayList<>(setup.isobar());
        command.addAll(List.of("bench", "ceilings", "--device=cpu", "--json=" + parts.json(name),
            setup.extent() == SuiteSize.REHEARSED ? "--copy_mb=1" : "--copy_mb=512"));
        command.addAll(options);
        if (parts.timing() == Timing.REHEARSED) {
            command.add("--rehearse");
        }
        parts.run(new PartRunner.Plan(name, command, SHORT));
    }
}
