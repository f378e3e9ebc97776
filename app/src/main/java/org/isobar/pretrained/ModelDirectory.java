package org.isobar.pretrained;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.config.keys.Key;
import org.isobar.config.keys.Keys;
import org.isobar.data.InputDescription;
import org.isobar.data.Normalization;
import org.isobar.data.NpyFile;
import org.isobar.data.channels.InputOnlyChannels;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/**
 * A directory with a trained model: {@code config.json}, {@code model.safetensors}, and the statistics of the data
 * under {@code stats}. A run's directory is one; {@code isobar export} writes others. The configuration is written
 * last, so that a directory which has one is complete.
 *
 * @param path          the directory
 * @param config        its {@code config.json}
 * @param normalization mean and standard deviation of each channel, in its unit
 * @param extra         the input channels that are no variables of the data
 */
public record ModelDirectory(Path path, ModelConfig config, Normalization normalization, InputOnlyChannels extra) {
    /** Name of the configuration. */
    public static final String CONFIG = "config.json";
    /** Name of the weights, under PyTorch's names. */
    public static final String WEIGHTS = "model.safetensors";
    private static final Path MEANS = Path.of("stats", "global_means.npy");
    private static final Path STDS = Path.of("stats", "global_stds.npy");
    private static final Path CONSTANTS = Path.of("stats", "constants.npy");

    /**
     * Opens a directory. The weights are not read.
     *
     * @throws UserException if a file is missing or damaged, or if they contradict each other
     */
    public static ModelDirectory open(Path path) {
        if (!Files.isDirectory(path)) {
            throw new UserException("there is no model directory " + path
                + "; give the directory of a run, or one that `isobar export` wrote");
        }
        for (String name : new String[] {CONFIG, WEIGHTS}) {
            if (Files.notExists(path.resolve(name))) {
                throw new UserException("directory " + path + " has no " + name + ", so it is not a complete model; "
                    + "make one with `isobar export`, for example of the run's newest checkpoint");
            }
        }
        ModelConfig config = ModelConfig.read(path.resolve(CONFIG));
        ModelDirectory model = new ModelDirectory(path, config, Normalization.load(path.resolve(MEANS),
            path.resolve(STDS), config.channels().size()), InputOnlyChannels.NONE);
        RunConfig run = model.configuration(Map.of(), Map.of()); // rejects sizes that no model can have
        return new ModelDirectory(path, config, model.normalization, InputDescription.extra(run.trainingData(), path));
    }

    /** Path of the weights. */
    public Path weights() {
        return path.resolve(WEIGHTS);
    }

    /**
     * The configuration of a process that uses this model, with a local batch of 1 unless the settings say otherwise.
     * The settings of training have no meaning in it.
     *
     * @param settings    preset keys of the machine and the job, such as {@code device}, and their values
     * @param environment environment variables, as in {@link ConfigRequest}
     * @throws UserException if the model or a setting is invalid
     */
    public RunConfig configuration(Map<String, String> settings, Map<String, String> environment) {
        Map<String, String> entries = new LinkedHashMap<>(config.settings());
        put(entries, Keys.TRAINING.globalBatchSize, "1");
        put(entries, Keys.TRAINING.numIters, "1");
        put(entries, Keys.TRAINING.lr, "1");
        put(entries, Keys.TRAINING.expdir, path);
        put(entries, Keys.DATA.trainDataPath, "/data/train");
        put(entries, Keys.DATA.validDataPath, "/data/valid");
        put(entries, Keys.DATA.constantsPath, path.resolve(CONSTANTS).toAbsolutePath());
        put(entries, Keys.DATA.globalMeansPath, path.resolve(MEANS).toAbsolutePath());
        put(entries, Keys.DATA.globalStdsPath, path.resolve(STDS).toAbsolutePath());
        ConfigRequest request = new ConfigRequest(path.resolve(CONFIG), "model", environment)
            .with(Keys.TRAINING.localBatchSize.name(), "1");
        for (Map.Entry<String, String> setting : settings.entrySet()) {
            request = request.with(setting.getKey(), setting.getValue());
        }
        return ConfigLoader.restore(entries, request);
    }

    private static void put(Map<String, String> entries, Key<?> key, Object value) {
        entries.put(key.name(), value.toString());
    }

    /**
     * Makes a directory incomplete before its weights are replaced, so that they are never used with another model's
     * configuration.
     *
     * @throws UserException if the configuration cannot be deleted
     */
    public static void begin(Path directory, String option) {
        Path file = directory.resolve(CONFIG);
        try {
            Files.deleteIfExists(file);
        } catch (IOException failure) {
            throw FileFault.unwritable("model configuration " + file, option, failure);
        }
    }

    /**
     * Writes the statistics, the constant fields if there are any, and then the configuration, beside the weights,
     * which must be there.
     *
     * @param option the command-line option that selects another directory, for error messages
     * @throws UserException if a file cannot be written
     */
    public static void complete(Path directory, ModelConfig config, Normalization normalization,
        InputOnlyChannels extra, String option) {
        int channels = normalization.means().length;
        write(directory.resolve(MEANS), normalization.means(), Shape.of(1, channels, 1, 1), option);
        write(directory.resolve(STDS), normalization.spreads(), Shape.of(1, channels, 1, 1), option);
        if (extra.constantFields() > 0) {
            write(directory.resolve(CONSTANTS), extra.constants(), Shape.of(1, extra.constantFields(),
                config.grid().latitudes().size(), config.grid().longitudes().size()), option);
        }
        new AtomicFile("model configuration", directory.resolve(CONFIG), option).write(config.toBytes());
    }

    private static void write(Path file, float[] values, Shape shape, String option) {
        double[] wide = new double[values.length];
        for (int i = 0; i < values.length; i++) {
            wide[i] = values[i];
        }
        new NpyFile(DType.F32, shape, wide).write(file, option);
    }
}
