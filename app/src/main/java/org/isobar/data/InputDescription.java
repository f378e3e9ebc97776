package org.isobar.data;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

import org.isobar.data.channels.ChannelChoice;
import org.isobar.data.channels.InputOnlyChannels;
import org.isobar.fault.UserException;

/**
 * What the training data say about the channels of a model.
 *
 * @param names         of its input channels; empty if the data do not name them
 * @param units         of its variables; empty if the data do not say
 * @param normalization mean and standard deviation of each input channel
 * @param extra         the input channels that are no variables of the data
 * @param latitudes     of the rows, in degrees north, if the data say
 * @param longitudes    of the columns, in degrees east, if the data say
 */
public record InputDescription(List<String> names, List<String> units, Normalization normalization,
    InputOnlyChannels extra, Optional<double[]> latitudes, Optional<double[]> longitudes) {
    private static final String FIRST = "the first training file";

    /** The description without a data file, whose first channels the model reads. */
    static InputDescription ofStatistics(DatasetConfig config) {
        return new InputDescription(List.of(), List.of(), Normalization.load(config.meansFile(), config.stdsFile(),
            config.inChannels()), InputOnlyChannels.NONE, Optional.empty(), Optional.empty());
    }

    /** The description by the first file of the data, of which the chosen channels are open. */
    static InputDescription of(DatasetConfig config, Era5File first) {
        int variables = config.variables().channels();
        Normalization ofVariables = config.channels().isNamed()
            ? Normalization.load(config.meansFile(), config.stdsFile(), first.path(), first.choice())
            : Normalization.load(config.meansFile(), config.stdsFile(), variables);
        InputOnlyChannels extra = extra(config, first.path(), file -> file.requireGrid(first.latitudes(),
            first.longitudes(), Era5File.SAME_PLACE, "data file " + first.path()));
        Normalization all = ofVariables.with(extra.constants(), extra.pixels(), config.inChannels());
        List<String> names = config.channels().isNamed() ? config.channels().inputs() : first.channels();
        return new InputDescription(names.subList(0, Math.min(names.size(), config.inChannels())),
            first.units().subList(0, Math.min(first.units().size(), variables)), all, extra,
            first.latitudes().filter(list -> list.length >= config.height())
                .map(list -> Arrays.copyOf(list, config.height())),
            first.longitudes().filter(list -> list.length >= config.width())
                .map(list -> Arrays.copyOf(list, config.width())));
    }

    /**
     * Checks that another data file of the same model has the same names and coordinates, as far as it has any.
     *
     * @throws UserException if one differs
     */
    void requireFit(Era5File file) {
        file.choice().renamed(names, FIRST).ifPresent(channel -> {
            throw new UserException("Data file " + file.path() + " has " + channel + ". Use files with the same "
                + "channels in the same order, or set channels in the preset to choose them by name.");
        });
        file.requireGrid(latitudes, longitudes, Era5File.SAME_PLACE, FIRST);
    }

    /**
     * Reads the input channels that are no variables of the data. Constant fields come from the first time step of an
     * HDF5 file, by name, or from an array (1, K, H, W) of a file {@code .npy}, in their order.
     *
     * @param first the first file of the training years, which has the constant fields if no other file is configured
     * @throws UserException if the constant fields cannot be read
     */
    public static InputOnlyChannels extra(DatasetConfig config, Path first) {
        return extra(config, first, _ -> { });
    }

    private static InputOnlyChannels extra(DatasetConfig config, Path first, Consumer<Era5File> check) {
        ChannelChoice choice = config.channels();
        if (choice.inputOnly() == 0) {
            return InputOnlyChannels.NONE;
        }
        CropWindow window = new CropWindow(choice.constants().size(), config.height(), config.width());
        float[] fields = new float[Math.toIntExact(window.elements())];
        if (!choice.constants().isEmpty()) {
            Path source = choice.constantsFile().orElse(first);
            if (source.toString().endsWith(".npy")) {
                readArray(source, window, fields);
            } else {
                readYear(source, choice.constants(), window, fields, check);
            }
            requireUsable(source, choice.constants(), window, fields);
        }
        return new InputOnlyChannels(fields, config.height() * config.width(), choice.time());
    }

    private static void readYear(Path source, List<String> names, CropWindow window, float[] fields,
        Consumer<Era5File> check) {
        try (Era5File file = Era5File.open(source, names)) {
            file.requireHolds(window);
            check.accept(file);
            file.read(0, window, Normalization.none(names.size()), MemorySegment.ofArray(fields), 0);
        }
    }

    private static void readArray(Path source, CropWindow window, float[] fields) {
        NpyFile array = NpyFile.read(source);
        long[] expected = {1, window.channels(), window.height(), window.width()};
        if (!Arrays.equals(array.shape().extents(), expected)) {
            throw new UserException("File " + source + " of constant fields has shape " + array.shape() + ", expected "
                + Arrays.toString(expected) + ". Give another one as constants_path.");
        }
        for (int i = 0; i < fields.length; i++) {
            fields[i] = (float) array.values()[i];
        }
    }

    private static void requireUsable(Path source, List<String> names, CropWindow window, float[] fields) {
        NonFiniteValue.find(MemorySegment.ofArray(fields), window).ifPresent(place -> {
            throw new UserException("File " + source + " holds " + place.value() + " in the constant field "
                + names.get(place.channel()) + ", row " + place.row() + ", column " + place.column()
                + ". Fill it, or leave out that field.");
        });
        int pixels = window.height() * window.width();
        for (int k = 0; k < names.size(); k++) {
            float any = fields[k * pixels];
            boolean flat = true;
            for (int i = k * pixels; i < (k + 1) * pixels; i++) {
                flat &= fields[i] == any;
            }
            if (flat) {
                throw new UserException("File " + source + " has " + any + " everywhere in the constant field "
                    + names.get(k) + ". Leave out that field.");
            }
        }
    }
}
