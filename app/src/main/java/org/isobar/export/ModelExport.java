package org.isobar.export;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;

import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.checkpoint.Checkpoint;
import org.isobar.checkpoint.Checkpoint.IntegrityCheck;
import org.isobar.checkpoint.CheckpointPath;
import org.isobar.checkpoint.TensorSlice;
import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.isobar.checkpoint.safetensors.SafeTensorsWriter;
import org.isobar.checkpoint.safetensors.StoredTensors;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.data.Era5Dataset;
import org.isobar.data.InputDescription;
import org.isobar.data.Normalization;
import org.isobar.data.channels.InputOnlyChannels;
import org.isobar.distributed.Communicators;
import org.isobar.export.onnx.OnnxModel;
import org.isobar.fault.UserException;
import org.isobar.model.ModelSpec;
import org.isobar.nn.ParameterStore;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;
import org.isobar.pretrained.ModelConfig;
import org.isobar.pretrained.ModelDirectory;
import org.isobar.train.saving.WeightsFile;

/** Writes a self-contained model of a run, a checkpoint or a file of weights. */
public final class ModelExport {
    private static final String OPTION = "--out";
    private static final String ONNX_FILE = "model.onnx";

    private final Path source;
    private final Path out;
    private final Format format;

    /** What is written. */
    public enum Format {
        /** A {@link ModelDirectory}. */
        DIRECTORY,
        /** An {@link OnnxModel}, {@code model.onnx}. */
        ONNX
    }

    /**
     * A model that was written.
     *
     * @param path its directory or file
     */
    public record Exported(Path path, ModelConfig config) { }

    /** What is written beside the weights. */
    private record Description(ModelConfig config, Normalization normalization, InputOnlyChannels extra) {
        static Description of(RunConfig run) {
            InputDescription inputs = Era5Dataset.describe(run.trainingData());
            return new Description(ModelConfig.of(run, inputs), inputs.normalization(), inputs.extra());
        }
    }

    /** The export of a run's directory, a checkpoint or a safetensors file to the directory {@code out}. */
    public ModelExport(Path source, Path out, Format format) {
        this.source = source;
        this.out = out;
        this.format = format;
        if (Files.notExists(source)) {
            throw new UserException("there is no run, checkpoint or file of weights at " + source
                + "; check the path");
        }
        Path directory = Files.isDirectory(source) ? source : source.toAbsolutePath().getParent();
        if (format == Format.DIRECTORY && isSame(directory, out)) {
            throw new UserException(OPTION + " " + out + " is the directory of the source; give another directory");
        }
    }

    private static boolean isSame(Path directory, Path other) {
        try {
            return Files.exists(other) && Files.isSameFile(directory, other);
        } catch (IOException failure) {
            throw FileFault.unwritable("the model to " + other, OPTION, failure);
        }
    }

    /**
     * Writes the model of a run that has ended, or of another model directory. If the source is neither, it is taken
     * for a checkpoint, a directory of them, or a file of weights.
     *
     * @param dataDir     directory of the data whose statistics a checkpoint's model gets; empty for the run's
     * @param preset      the configuration of weights without a {@code config.json} beside them; empty if none is given
     * @param environment environment variables, of which DATADIR is read
     * @param skipped     receives a message for each newer checkpoint that is damaged
     * @throws UserException if the source is damaged or does not fit its configuration, if its architecture cannot be
     *                       written in this format, or a file cannot be written
     */
    public Exported write(Optional<String> dataDir, Optional<Supplier<RunConfig>> preset,
        Map<String, String> environment, Consumer<String> skipped) {
        Path directory = Files.isDirectory(source) ? source : source.toAbsolutePath().getParent();
        boolean described = Files.exists(directory.resolve(ModelDirectory.CONFIG));
        if (Files.isDirectory(source) && !(described && Files.exists(source.resolve(ModelDirectory.WEIGHTS)))) {
            refuse(preset);
            return ofCheckpoint(dataDir, environment, skipped);
        }
        if (described) {
            refuse(preset);
            ModelDirectory model = ModelDirectory.open(directory);
            return ofWeights(Files.isDirectory(source) ? model.weights() : source,
                new Description(model.config(), model.normalization(), model.extra()),
                model.configuration(Map.of(), Map.of()).model());
        }
        RunConfig run = preset.orElseThrow(() -> new UserException("there is no " + ModelDirectory.CONFIG + " beside "
            + source + "; name the preset of the weights with --config")).get();
        return ofWeights(source, Description.of(run), run.model());
    }

    private void refuse(Optional<Supplier<RunConfig>> preset) {
        if (preset.isPresent()) {
            throw new UserException(source + " comes with its configuration; leave out --config");
        }
    }

    private Exported ofCheckpoint(Optional<String> dataDir, Map<String, String> environment,
        Consumer<String> skipped) {
        try (Checkpoint checkpoint = new CheckpointPath(source).open(IntegrityCheck.CHECKSUMS, skipped)) {
            RunConfig run = configuration(checkpoint, dataDir, environment);
            return of("checkpoint " + checkpoint.path(), checkpoint, Description.of(run), run.model());
        }
    }

    /** The run's configuration for one process, whatever job it was. */
    private static RunConfig configuration(Checkpoint checkpoint, Optional<String> dataDir,
        Map<String, String> environment) {
        Map<String, String> machine = new HashMap<>(environment);
        machine.keySet().retainAll(Set.of("DATADIR"));
        Map<String, String> settings = new LinkedHashMap<>(Map.of("tensor_parallel", "1", "context_parallel", "1",
            "comm_backend", "auto", "resume", "never", "init_weights", "None"));
        dataDir.ifPresent(directory -> settings.put("data_dir", directory));
        ConfigRequest request = new ConfigRequest(checkpoint.path().resolve("checkpoint.json"), "export", machine);
        for (Map.Entry<String, String> setting : settings.entrySet()) {
            request = request.with(setting.getKey(), setting.getValue());
        }
        return ConfigLoader.restore(checkpoint.configuration(), request);
    }

    private Exported ofWeights(Path weights, Description model, ModelSpec spec) {
        try (SafeTensorsFile file = SafeTensorsFile.open(weights)) {
            return of("weights file " + weights, file, model, spec);
        }
    }

    /** Writes the model whose weights are {@code stored}; {@code what} names them in messages. */
    private Exported of(String what, StoredTensors stored, Description model, ModelSpec spec) {
        List<String> weights = stored.names().stream().filter(TensorSlice::isWeight).toList();
        if (format == Format.ONNX && spec.forwardGraph().isEmpty()) {
            throw new UserException("architecture " + model.config.architecture() + " cannot be exported to ONNX; "
                + "leave out --format");
        }
        requireFit(what, weights, stored, spec);
        return switch (format) {
            case DIRECTORY -> {
                writeDirectory(weights, stored, model);
                yield new Exported(out, model.config);
            }
            case ONNX -> {
                Path file = out.resolve(ONNX_FILE);
                new OnnxModel(spec, spec.forwardGraph().orElseThrow(), model.normalization,
                    model.config.fields())
                    .write(file, stored, OPTION);
                yield new Exported(file, model.config);
            }
        };
    }

    private void writeDirectory(List<String> weights, StoredTensors stored, Description model) {
        ModelDirectory.begin(out, OPTION);
        List<SafeTensorsWriter.NamedTensor> tensors = weights.stream()
            .map(name -> new SafeTensorsWriter.NamedTensor(name, stored.shape(name),
                memory -> stored.read(name, memory))).toList();
        new AtomicFile("weights", out.resolve(ModelDirectory.WEIGHTS), OPTION)
            .write(file -> SafeTensorsWriter.write(file, tensors, Map.of("format", "pt")));
        ModelDirectory.complete(out, model.config, model.normalization, model.extra, OPTION);
        ModelDirectory.open(out);
    }

    private static void requireFit(String what, List<String> weights, StoredTensors stored, ModelSpec spec) {
        try (DryRunDevice device = new DryRunDevice();
            Communicators alone = Communicators.alone(device.ops().memory()::copy)) {
            ParameterStore parameters = new ParameterStore();
            spec.create(parameters, alone);
            new WeightsFile(parameters, device, alone).requireFit(what, weights, stored);
        }
    }
}
