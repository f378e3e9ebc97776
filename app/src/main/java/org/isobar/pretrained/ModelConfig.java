package org.isobar.pretrained;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.annotation.JsonNaming;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.isobar.checkpoint.StrictJson;
import org.isobar.config.DataConfig;
import org.isobar.config.RunConfig;
import org.isobar.config.keys.Key;
import org.isobar.config.keys.Keys;
import org.isobar.config.keys.ValueType;
import org.isobar.data.InputDescription;
import org.isobar.data.NonFiniteValue;
import org.isobar.data.channels.ChannelChoice;
import org.isobar.fault.PlainText;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import org.isobar.os.ProgramVersion;
import org.isobar.os.RegularFile;

/**
 * The contents of a model's {@code config.json}.
 *
 * @param format          {@link #FORMAT}
 * @param version         version of the format: 1
 * @param program         version of the program that wrote it
 * @param architecture    kind of model, as preset key {@code architecture} names it
 * @param hyperparameters sizes of the model, by their keys in a preset
 * @param channels        the variables that the model reads, in order; it forecasts the first {@code n_out_channels}
 * @param grid            the places of the pixels
 * @param leadStepHours   hours from the input to the forecast of one step
 */
@JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
public record ModelConfig(String format, int version, String program, String architecture,
    Map<String, JsonNode> hyperparameters, List<Channel> channels, ModelGrid grid, int leadStepHours) {
    static final String FORMAT = "isobar model";
    static final int VERSION = 1;
    private static final int MAX_BYTES = 1 << 22;
    private static final String HOURS = Keys.DATA.hoursPerFrame.name();
    private static final int MAX_HOURS = 24 * 366;
    private static final String NAME = ValueType.CHANNEL;
    private static final String UNIT = "[ -~]{0,100}"; // printable ASCII
    private static final JsonMapper JSON = StrictJson.mapperWithoutNull();
    /** Names of the coordinates of a forecast, which no channel can have. */
    private static final List<String> COORDINATES = List.of("time", "prediction_timedelta", "latitude", "longitude");

    /**
     * The configuration of a run's model. What the data do not say is the tutorial's: names and units of the first
     * channels, and coordinates by its rule. A unit that the file cannot have is left out.
     *
     * @param inputs what the run's training data say about its channels
     * @throws UserException if the data give names or coordinates that cannot be used
     */
    public static ModelConfig of(RunConfig run, InputDescription inputs) {
        Map<String, JsonNode> sizes = new LinkedHashMap<>();
        for (Key<?> key : sizeKeys()) {
            sizes.put(key.name(), json(run.entries().get(key.name())));
        }
        if (run.data().hoursPerFrame() != DataConfig.HOURS_PER_FRAME) {
            sizes.put(HOURS, json(run.entries().get(HOURS)));
        }
        ChannelChoice choice = run.data().channels();
        if (choice.isNamed()) {
            sizes.put(Keys.DATA.channels.name(), JSON.valueToTree(choice.variables()));
            sizes.put(Keys.DATA.outChannels.name(),
                JSON.valueToTree(choice.variables().subList(0, run.model().outChannels())));
        }
        if (!choice.constants().isEmpty()) {
            sizes.put(Keys.DATA.constants.name(), JSON.valueToTree(choice.constants()));
        }
        if (choice.time()) {
            sizes.put(Keys.DATA.timeChannels.name(), JSON.valueToTree(true));
        }
        return new ModelConfig(FORMAT, VERSION, ProgramVersion.text(),
            run.entries().get(Keys.RUN.architecture.name()), sizes, channels(run, inputs), grid(run, inputs),
            run.data().dt() * run.data().hoursPerFrame());
    }

    private static ModelGrid grid(RunConfig run, InputDescription inputs) {
        ModelGrid grid = ModelGrid.of(inputs.latitudes(), inputs.longitudes(), run.model().height(),
            run.model().width());
        if (!grid.fault().isEmpty()) {
            throw new UserException("The data set at " + run.trainingData().directory() + " cannot be used: "
                + grid.fault() + ". Correct lat and lon in its files.");
        }
        return grid;
    }

    /** The channels as the data name them; those of the tutorial if the data do not. */
    private static List<Channel> channels(RunConfig run, InputDescription inputs) {
        if (inputs.names().isEmpty()) {
            return Channel.ofTutorial(run.model().inChannels());
        }
        List<Channel> named = Channel.of(inputs.names(),
            inputs.units().stream().map(unit -> unit.matches(UNIT) ? unit : "").toList());
        Set<String> names = new HashSet<>();
        named.stream().filter(channel -> !isUsable(channel) || !names.add(channel.name())).findFirst()
            .ifPresent(channel -> {
                throw new UserException(PlainText.of("The data set at " + run.trainingData().directory()
                    + " cannot be used: it names a channel '" + channel.name() + "'. Names have letters, digits, _, . "
                    + "and -, each occurs once, and none is " + String.join(", ", COORDINATES)
                    + ". Correct them in its files."));
            });
        return named;
    }

    private static boolean isUsable(Channel channel) {
        return channel.name().matches(NAME) && channel.unit().matches(UNIT) && !COORDINATES.contains(channel.name());
    }

    /** Keys of {@link #hyperparameters}. */
    private static List<Key<?>> sizeKeys() {
        return Stream.concat(Keys.MODEL.keys().stream(), Stream.of(Keys.DATA.nInChannels, Keys.DATA.nOutChannels))
            .toList();
    }

    /** The value of a preset's key as JSON. Numbers and lists of numbers are written alike in both. */
    private static JsonNode json(String entry) {
        try {
            return JSON.readTree(entry);
        } catch (JsonProcessingException text) {
            return JSON.valueToTree(entry);
        }
    }

    /** Hours from one time step of the training data to the next. */
    private int hoursPerFrame() {
        JsonNode given = hyperparameters.get(HOURS);
        return given == null || given.intValue() < 1 ? DataConfig.HOURS_PER_FRAME : given.intValue();
    }

    /** The names of the channels that the model forecasts, in order. */
    public List<String> forecastNames() {
        return forecastChannels().stream().map(Channel::name).toList();
    }

    /** The channels that the model forecasts: the first {@code n_out_channels}. */
    public List<Channel> forecastChannels() {
        return channels.subList(0, hyperparameters.get(Keys.DATA.nOutChannels.name()).intValue());
    }

    /** The value, the channel, the row and the column of a place in a field, as text. */
    public String text(NonFiniteValue.Place place) {
        return place.value() + " in " + channels.get(place.channel()).name() + ", row " + place.row() + ", column "
            + place.column();
    }

    /** The settings of a preset for this model. */
    Map<String, String> settings() {
        Map<String, String> settings = new LinkedHashMap<>();
        hyperparameters.forEach((name, value) ->
            settings.put(name, value.isTextual() ? value.textValue() : value.toString()));
        settings.put(Keys.RUN.architecture.name(), architecture);
        settings.put(Keys.TRAINING.dt.name(), String.valueOf(leadStepHours / hoursPerFrame()));
        return settings;
    }

    /** The fields of the file by name: text as it is, other values as JSON. */
    public Map<String, String> fields() {
        Map<String, String> fields = new LinkedHashMap<>();
        JSON.<ObjectNode>valueToTree(this).properties().forEach(field ->
            fields.put(field.getKey(), field.getValue().isTextual() ? field.getValue().textValue()
                : field.getValue().toString()));
        return fields;
    }

    /** Encodes the configuration as the file's contents. */
    byte[] toBytes() {
        try {
            return (JSON.writerWithDefaultPrettyPrinter().writeValueAsString(this) + "\n")
                .getBytes(StandardCharsets.UTF_8);
        } catch (JsonProcessingException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /**
     * Reads a file.
     *
     * @throws UserException if it cannot be read, is not a model's configuration, or contradicts itself
     */
    static ModelConfig read(Path file) {
        byte[] bytes;
        try {
            bytes = RegularFile.read(file, MAX_BYTES);
        } catch (IOException failure) {
            throw FileFault.unreadable("model configuration " + file, failure);
        }
        try {
            JsonNode root = JSON.readTree(new String(bytes, StandardCharsets.UTF_8));
            require(FORMAT.equals(root.path("format").textValue()), file, "it does not have the format " + FORMAT);
            require(root.path("version").isInt() && root.path("version").intValue() == VERSION, file,
                "its version is " + root.path("version") + ", and this program reads " + VERSION);
            ModelConfig config = JSON.treeToValue(root, ModelConfig.class);
            config.check(file);
            return config;
        } catch (JsonProcessingException malformed) {
            throw refused(file, malformed.getOriginalMessage());
        }
    }

    private void check(Path file) {
        Set<String> unknown = new TreeSet<>(hyperparameters.keySet());
        sizeKeys().forEach(key -> unknown.remove(key.name()));
        List.of(Keys.DATA.hoursPerFrame, Keys.DATA.channels, Keys.DATA.outChannels, Keys.DATA.constants,
            Keys.DATA.timeChannels).forEach(key -> unknown.remove(key.name()));
        require(unknown.isEmpty(), file, "it has the unknown hyperparameters " + unknown);
        require(hyperparameters.containsKey(Keys.MODEL.imgSize.name()), file, "it has no img_size");
        JsonNode image = JSON.createArrayNode().add(grid.latitudes().size()).add(grid.longitudes().size());
        require(hyperparameters.get(Keys.MODEL.imgSize.name()).equals(image), file, "its grid has "
            + grid.latitudes().size() + " latitudes and " + grid.longitudes().size()
            + " longitudes, which img_size does not say");
        require(grid.fault().isEmpty(), file, grid.fault());
        checkChannels(file);
        require(leadStepHours > 0 && leadStepHours <= MAX_HOURS && leadStepHours % hoursPerFrame() == 0, file,
            "a step of " + leadStepHours + " hours is not a multiple of " + hoursPerFrame() + " hours up to a year");
    }

    private void checkChannels(Path file) {
        JsonNode read = hyperparameters.get(Keys.DATA.nInChannels.name());
        JsonNode forecast = hyperparameters.get(Keys.DATA.nOutChannels.name());
        require(read != null && read.isInt() && read.intValue() == channels.size(), file,
            "it names " + channels.size() + " channels, and n_in_channels is " + read);
        require(forecast != null && forecast.isInt() && forecast.intValue() > 0
            && forecast.intValue() <= channels.size(), file, "its n_out_channels is " + forecast);
        require(channels.stream().map(Channel::name).distinct().count() == channels.size(), file,
            "two channels have the same name");
        String misnamed = channels.stream().filter(channel -> !isUsable(channel))
            .map(Channel::toString).collect(Collectors.joining(", "));
        require(misnamed.isEmpty(), file, "names or units cannot be used: " + misnamed);
    }

    private static void require(boolean condition, Path file, String otherwise) {
        if (!condition) {
            throw refused(file, otherwise);
        }
    }

    private static UserException refused(Path file, String reason) {
        return new UserException(PlainText.of("model configuration " + file + " cannot be used: " + reason
            + "; write the model again with `isobar export`"));
    }
}
