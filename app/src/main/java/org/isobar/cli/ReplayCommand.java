package org.isobar.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;

import org.isobar.cli.checkpoint.CheckpointCommand;
import org.isobar.cli.options.ProgramContext;
import org.isobar.train.diagnosis.StepReplay;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code isobar replay}: repeats the step after a checkpoint in fp32 and reports what is not finite in it. */
@Command(name = ReplayCommand.NAME, mixinStandardHelpOptions = true, sortOptions = false,
    description = ReplayCommand.SUMMARY)
final class ReplayCommand implements Callable<Integer> {
    static final String NAME = "replay";
    static final String SUMMARY = "Repeat the step after a checkpoint in fp32, sample by sample, and print which "
        + "layers, gradients or data are not finite. Exits with 0 if everything is finite, else with 1.";

    private final ProgramContext context;
    @Spec
    private CommandSpec spec;
    @Parameters(paramLabel = "PATH", description = CheckpointCommand.NEWEST + ".")
    private Path path;
    @Option(names = "--data_dir", paramLabel = "DIR",
        description = "Directory of the run's data (default: DATADIR, else where the run found them).")
    private String dataDir;
    @Option(names = "--device", paramLabel = "auto|cpu|cuda", description = "What computes (default: as in the run).")
    private String device;
    @Option(names = "--threads", paramLabel = "N", description = "Compute threads of the CPU (default: as in the run).")
    private String threads;

    ReplayCommand(ProgramContext context) {
        this.context = context;
    }

    @Override
    public Integer call() {
        Map<String, String> overrides = new LinkedHashMap<>();
        put(overrides, "data_dir", dataDir);
        put(overrides, "device", device);
        put(overrides, "threads", threads);
        PrintWriter out = spec.commandLine().getOut();
        return StepReplay.run(path, overrides, context.environment(), line -> {
            out.println(line);
            out.flush();
        });
    }

    private static void put(Map<String, String> overrides, String key, String value) {
        if (value != null) {
            overrides.put(key, value);
        }
    }
}
