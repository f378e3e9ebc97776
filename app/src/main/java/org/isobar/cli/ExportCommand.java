package org.isobar.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Supplier;

import org.isobar.cli.options.ProgramContext;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.export.ModelExport;
import org.isobar.fault.UserException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code isobar export}: writes a self-contained model of a run, a checkpoint or weights. */
@Command(name = ExportCommand.NAME, mixinStandardHelpOptions = true, sortOptions = false,
    description = ExportCommand.SUMMARY, footer = "Example: isobar export logs/demo/1GPU/00 --out=demo-model")
final class ExportCommand implements Callable<Integer> {
    static final String NAME = "export";
    static final String SUMMARY = "Write a self-contained model: weights, configuration and the data's statistics.";

    private final ProgramContext context;
    @Spec
    private CommandSpec spec;
    @Parameters(paramLabel = "SOURCE", description = "A run's directory, a checkpoint, a directory of checkpoints, or "
        + "a safetensors file. Of a run that has not ended, the newest intact checkpoint is exported.")
    private Path source;
    @Option(names = "--out", paramLabel = "DIR", required = true, description = "Directory that the model is written "
        + "to; a model in it is replaced.")
    private Path out;
    @Option(names = "--format", paramLabel = "FORMAT", description = "directory (default): weights as safetensors, "
        + "configuration and statistics; onnx: the file model.onnx, a graph that reads and writes fields in the units "
        + "of the data.")
    private ModelExport.Format format = ModelExport.Format.DIRECTORY;
    @Option(names = "--data_dir", paramLabel = "DIR", description = "Directory of the data, whose statistics the model "
        + "of a checkpoint or of a preset gets (default: DATADIR, else as configured).")
    private String dataDir;
    @Option(names = "--config", paramLabel = "NAME",
        description = "Preset of a safetensors file that has no config.json beside it.")
    private String preset;
    @Option(names = "--yaml_config", paramLabel = "FILE", description = "File of presets, for --config.")
    private Path presets;
    @Option(names = "--set", paramLabel = "KEY=VALUE", description = "Set any key of the preset; may be repeated.")
    private List<String> assignments = List.of();

    ExportCommand(ProgramContext context) {
        this.context = context;
    }

    @Override
    public Integer call() {
        if (preset == null && (presets != null || !assignments.isEmpty())) {
            throw new UserException("--yaml_config and --set change a preset; name it with --config");
        }
        Supplier<RunConfig> configured = preset == null ? null : this::configuration;
        PrintWriter err = spec.commandLine().getErr();
        ModelExport.Exported model = new ModelExport(source, out, format).write(Optional.ofNullable(dataDir),
            Optional.ofNullable(configured), context.environment(), reason -> {
                err.println("isobar: skipped: " + reason);
                err.flush();
            });
        PrintWriter printed = spec.commandLine().getOut();
        printed.println("Wrote the model of " + source + " to " + model.path() + ": " + model.config().architecture()
            + ", " + model.config().channels().size() + " channels, steps of " + model.config().leadStepHours()
            + " hours.");
        printed.flush();
        return 0;
    }

    private RunConfig configuration() {
        ConfigRequest request = new ConfigRequest(presets == null ? context.defaultPresets() : presets, preset,
            context.environment());
        for (String assignment : assignments) {
            request = request.set(assignment);
        }
        return ConfigLoader.load(dataDir == null ? request : request.with("data_dir", dataDir));
    }
}
