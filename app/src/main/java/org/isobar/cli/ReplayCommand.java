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

/** {@code isobar replay}: the step after a checkpoint in fp32, with a look at all its numbers. */
@Command(name = "replay", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Replay the step after a checkpoint in fp32, sample by sample, and name what is not finite: layers, "
        + "gradients, data. Exits with 0 if all is finite, with 1 if not.")
final class ReplayCommand implements Callable<Integer> {
    private final ProgramContext launch;
    @Spec
    private CommandSpec spec;
    @Parameters(paramLabel = "PATH", description = CheckpointCommand.NEWEST + ".")
    private Path path;
    @Option(names = "--data_dir", paramLabel = "DIR",
        description = "Where the run's data are now (else DATADIR, else where they were).")
    private String dataDir;
    @Option(names = "--device", paramLabel = "auto|cpu|cuda", description = "Where to compute (default: as the run).")
    private String device;
    @Option(names = "--threads", paramLabel = "N", description = "Compute threads of the CPU (default: as the run).")
    private String threads;

    ReplayCommand(ProgramContext launch) {
        this.launch = launch;
    }

    @Override
    public Integer call() {
        Map<String, String> overrides = new LinkedHashMap<>();
        put(overrides, "data_dir", dataDir);
        put(overrides, "device", device);
        put(overrides, "threads", threads);
        PrintWriter out = spec.commandLine().getOut();
        return StepReplay.run(path, overrides, launch.environment(), line -> {
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
