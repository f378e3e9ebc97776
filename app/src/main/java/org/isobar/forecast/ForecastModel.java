package org.isobar.forecast;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;

import org.isobar.config.RunConfig;
import org.isobar.data.CropWindow;
import org.isobar.data.Era5Dataset;
import org.isobar.data.Era5File;
import org.isobar.data.Era5Frames;
import org.isobar.data.InputDescription;
import org.isobar.data.Normalization;
import org.isobar.data.channels.InputOnlyChannels;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import org.isobar.os.RegularFile;
import org.isobar.pretrained.Channel;
import org.isobar.pretrained.ModelConfig;
import org.isobar.pretrained.ModelDirectory;

/**
 * A trained model, and the process that uses it.
 *
 * @param config        names, units, coordinates and lead
 * @param normalization mean and standard deviation of each channel
 * @param extra         the input channels that are no variables of the data
 * @param weights       the weights, safetensors
 * @param run           sizes of the model; device, parallel layout and local batch size of the process
 */
public record ForecastModel(ModelConfig config, Normalization normalization, InputOnlyChannels extra, Path weights,
    RunConfig run) {
    private static final int BUFFER_BYTES = 1 << 20;

    /**
     * The model of a directory.
     *
     * @param settings    preset keys of the machine and the job, such as {@code device}, and their values
     * @param environment environment variables, of which those of the rank are read, for example
     * @throws UserException if the directory or a setting is invalid
     */
    public static ForecastModel open(Path directory, Map<String, String> settings, Map<String, String> environment) {
        ModelDirectory model = ModelDirectory.open(directory);
        return new ForecastModel(model.config(), model.normalization(), model.extra(), model.weights(),
            model.configuration(settings, environment));
    }

    /**
     * The model of a preset with the weights of a file.
     *
     * @throws UserException if the statistics that the preset names cannot be read
     */
    public static ForecastModel of(RunConfig run, Path weights) {
        InputDescription inputs = Era5Dataset.describe(run.trainingData());
        return new ForecastModel(ModelConfig.of(run, inputs), inputs.normalization(), inputs.extra(), weights, run);
    }

    /** Hours from one frame of the data to the next, if the data do not say. */
    public int hoursPerFrame() {
        return run.data().hoursPerFrame();
    }

    /**
     * Frames of the data from one step of the model to the next.
     *
     * @throws UserException if that is no whole number
     */
    public int framesPerStep(Era5Frames frames) {
        if (config.leadStepHours() % frames.hoursPerFrame() != 0) {
            throw new UserException("a step of the model is " + config.leadStepHours() + " hours, and the data have a "
                + "frame every " + frames.hoursPerFrame() + " hours; use data with more frames");
        }
        return config.leadStepHours() / frames.hoursPerFrame();
    }

    /**
     * Text that differs between models: of their weights, statistics, constant fields, sizes and coordinates.
     *
     * @throws UserException if the weights cannot be read
     */
    public String identity() {
        CRC32C sum = new CRC32C();
        try (FileChannel file = RegularFile.open(weights)) {
            ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
            while (file.read(buffer.clear()) >= 0) {
                sum.update(buffer.flip());
            }
        } catch (IOException failure) {
            throw FileFault.unreadable("weights " + weights, failure);
        }
        return String.join("\n", "weights " + sum.getValue(), "model " + config.hashCode(),
            "statistics " + Arrays.hashCode(normalization.means()) + " " + Arrays.hashCode(normalization.spreads())
                + (extra.constantFields() > 0 ? " " + Arrays.hashCode(extra.constants()) : ""));
    }

    /** The part of a frame of the data that the model reads. Its input has the {@link #extra} channels, too. */
    public CropWindow input() {
        return new CropWindow(run.model().inChannels() - extra.count(), run.model().height(), run.model().width());
    }

    /** The frames of a directory, with the channels and the window that the model reads. */
    public Era5Frames inputs(Path directory) {
        return Era5Frames.of(directory, input(), hoursPerFrame(), run.data().channels().variables(),
            file -> requireFit(file, input()));
    }

    /** The frames of a directory, with the channels and the window that the model forecasts. */
    public Era5Frames outputs(Path directory) {
        List<String> names = run.data().channels().variables();
        return Era5Frames.of(directory, output(), hoursPerFrame(),
            names.isEmpty() ? names : names.subList(0, run.model().outChannels()),
            file -> requireFit(file, output()));
    }

    /** Checks names and coordinates of a file, as far as it has them. */
    private void requireFit(Era5File file, CropWindow window) {
        List<String> names = config.channels().stream().map(Channel::name).toList();
        file.choice().renamed(names.subList(0, window.channels()), "the model").ifPresent(channel -> {
            throw new UserException("Data file " + file.path() + " has " + channel + ". Use data with the channels "
                + String.join(", ", names) + ", or train a model that chooses its channels by name.");
        });
        config.grid().requireFit(file);
    }

    /** The part of a frame of the data that the model forecasts. */
    public CropWindow output() {
        return new CropWindow(run.model().outChannels(), run.model().height(), run.model().width());
    }
}
