package org.isobar.cli.bench;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;
import org.isobar.backend.DeviceOptions;
import org.isobar.bench.measure.LoaderBenchmark;
import org.isobar.bench.measure.LoaderFiles;
import org.isobar.bench.measure.Timing;
import org.isobar.bench.report.BenchFiles;
import org.isobar.bench.suite.PythonInterpreter;
import org.isobar.cli.options.ProgramContext;
import org.isobar.config.ThreadCount;
import org.isobar.device.Device;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.os.TemporaryDirectory;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code isobar bench loader}: measures how fast samples are read from files in the system's page cache. */
@Command(name = "loader", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Measure how fast samples of preset base are read from files in the system's page cache.")
final class BenchLoaderCommand implements Runnable {
    private final ProgramContext context;
    @Spec
    private CommandSpec spec;
    @CommandLine.Mixin
    private BenchOutput outcome;
    @Option(names = "--data", paramLabel = "DIR", description = "Directory of the files, 1 GB. Missing ones are "
        + "written there and kept (default: a temporary directory). --rehearse writes small ones.")
    private Path data;

    BenchLoaderCommand(ProgramContext context) {
        this.context = context;
    }

    @Override
    public void run() {
        if (data != null) {
            measure(data);
            return;
        }
        try (TemporaryDirectory scratch = new TemporaryDirectory("isobar-bench")) {
            measure(scratch.directory());
        }
    }

    private void measure(Path directory) {
        LoaderFiles files = outcome.timing() == Timing.REHEARSED ? new LoaderFiles(directory, 32, 64, 4)
            : LoaderFiles.ofBase(directory);
        Consumer<String> progress = spec.commandLine().getOut()::println;
        files.make(progress);
        if (!files.complete()) {
            makeChunkedFiles(files, progress);
        }
        DeviceOptions options = DeviceOptions.of(ThreadCount.of(Optional.empty(), context.environment()),
            RankEnvironment.of(context.environment()), CommBackend.AUTO, context.environment());
        try (Device device = Backend.CPU.open(options, spec.commandLine().getOut()::println)) {
            BenchFiles.write(outcome.json(), new LoaderBenchmark(device, files, outcome.timing()).run());
        }
    }

    private void makeChunkedFiles(LoaderFiles files, Consumer<String> progress) {
        PythonInterpreter python =
            PythonInterpreter.with("h5py, numpy", Optional.ofNullable(context.environment().get("PYTHON")));
        python.program().ifPresentOrElse(program -> files.makeOthers(
            List.of(program, context.home().resolve("bench/loader_h5py.py").toString()), progress),
            () -> progress.accept("No chunked and no compressed files: " + python.answer()));
    }
}
