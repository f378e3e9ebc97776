package org.isobar.pretrained;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

import org.isobar.config.RunConfig;
import org.isobar.data.InputDescription;
import org.isobar.data.Normalization;
import org.isobar.data.channels.InputOnlyChannels;
import org.isobar.fault.UserException;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The model that a run's directory is. */
class ModelDirectoryTest {
    @TempDir
    private static Path directory;
    private static Path run;
    @TempDir
    private Path copy;

    @BeforeAll
    static void train() {
        TinyRun.synthesize(directory);
        run = TinyRun.of(directory, directory.resolve("logs"), "num_iters=12").succeeded().directory();
    }

    @Test
    void aRunIsAModel() {
        RunConfig trained = TinyRun.config(directory, directory.resolve("logs"));
        ModelDirectory model = ModelDirectory.open(run);
        assertEquals(trained.model(), model.configuration(Map.of(), Map.of()).model());
        assertEquals(List.of("u10", "v10", "t2m"), model.config().forecastNames());
        assertEquals(new Channel("t2m", "K"), model.config().channels().getLast());
        assertEquals(6, model.config().leadStepHours());
        assertEquals(List.of(90.0, -90.0, 0.0, 348.75), List.of(model.config().grid().latitudes().getFirst(),
            model.config().grid().latitudes().getLast(), model.config().grid().longitudes().getFirst(),
            model.config().grid().longitudes().getLast()));
        Normalization expected = Normalization.load(trained.data().globalMeansPath(), trained.data().globalStdsPath(),
            3);
        assertArrayEquals(expected.means(), model.normalization().means());
        assertArrayEquals(expected.spreads(), model.normalization().spreads());
    }

    /** The rows of a region, and its columns on both sides of Greenwich or of 180 degrees, which files count anew. */
    @ParameterizedTest
    @CsvSource({"-25, -180, 180", "-25, 0, 360", "150, -180, 180", "150, 0, 360"})
    void theGridIsThatOfTheData(double west, double least, double most) {
        double[] latitudes = IntStream.range(0, 16).mapToDouble(j -> 72 - 2 * j).toArray();
        double[] longitudes = IntStream.range(0, 32).mapToDouble(i -> west + 2 * i).toArray();
        ModelGrid grid = ModelConfig.of(TinyRun.config(directory, directory.resolve("logs")), described(latitudes,
            DoubleStream.of(longitudes).map(x -> x < least ? x + 360 : x >= most ? x - 360 : x).toArray())).grid();
        assertArrayEquals(latitudes, grid.latitudes().stream().mapToDouble(Double::doubleValue).toArray());
        assertArrayEquals(longitudes, grid.longitudes().stream().mapToDouble(Double::doubleValue).toArray());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        72  | -2 | 0   | 100 | its longitudes do not rise. Correct lat and lon in its files
        72  | -2 | 35  | -1  | its longitudes do not rise
        72  | 2  | 0   | 2   | a latitude is not between -90 and 90
        72  | 0  | 0   | 2   | its latitudes neither all fall nor all rise
        """)
    void coordinatesThatCannotBeUsedAreRefused(double north, double southward, double west, double eastward,
        String reason) {
        RunConfig config = TinyRun.config(directory, directory.resolve("logs"));
        InputDescription inputs = described(
            IntStream.range(0, 16).mapToDouble(j -> north + southward * j).toArray(),
            IntStream.range(0, 32).mapToDouble(i -> (west + eastward * i) % 360).toArray());
        String refusal = assertThrows(UserException.class, () -> ModelConfig.of(config, inputs)).getMessage();
        assertTrue(refusal.contains(directory.resolve("tiny/train") + " cannot be used: " + reason), refusal);
    }

    private static InputDescription described(double[] latitudes, double[] longitudes) {
        return new InputDescription(List.of(), List.of(), Normalization.none(3), InputOnlyChannels.NONE,
            Optional.of(latitudes), Optional.of(longitudes));
    }

    private static List<Channel> channels(List<String> names, List<String> units) {
        return ModelConfig.of(TinyRun.config(directory, directory.resolve("logs")), new InputDescription(names, units,
            Normalization.none(3), InputOnlyChannels.NONE, Optional.empty(), Optional.empty())).channels();
    }

    @Test
    void aUnitThatCannotBeWrittenIsLeftOut() {
        List<Channel> channels = channels(List.of("a", "b", "c"), List.of("\u00b0C", "x".repeat(101), "K"));
        assertEquals(List.of(new Channel("a", ""), new Channel("b", ""), new Channel("c", "K")), channels);
        assertEquals(Channel.ofTutorial(3), channels(List.of(), List.of("1", "2", "3")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"wind speed", "u10", "longitude", "\u00b5", ""})
    void aNameThatCannotBeUsedIsRefused(String name) {
        String refusal = assertThrows(UserException.class, () -> channels(List.of("u10", name, "t2m"), List.of()))
            .getMessage();
        assertTrue(refusal.contains(directory.resolve("tiny/train") + " cannot be used: it names a channel '" + name
            + "'. Names have"), refusal);
    }

    @Test
    void settingsChooseMachineAndLayout() {
        RunConfig config = ModelDirectory.open(run).configuration(Map.of("tensor_parallel", "2", "threads", "3",
            "local_batch_size", "5"), Map.of("RANK", "1", "LOCAL_RANK", "1", "WORLD_SIZE", "2", "MASTER_ADDR", "a",
            "MASTER_PORT", "1"));
        assertEquals(1, config.ranks().rank());
        assertEquals(5, config.training().localBatchSize());
        assertEquals(3, config.threads().orElseThrow());
    }

    @Test
    void channelsBeyondTheTutorialsHaveUniqueNames() {
        List<Channel> channels = Channel.ofTutorial(23);
        assertEquals("tcwv", channels.get(19).name());
        assertEquals("channel_20", channels.get(20).name());
        assertEquals(23, channels.stream().map(Channel::name).distinct().count());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        "version" : 1                | "version" : 2        | its version is 2
        "isobar model"               | "model"              | it does not have the format isobar model
        "depth" : 1                  | "deep" : 1           | unknown hyperparameters [deep]
        "n_in_channels" : 3          | "n_in_channels" : 4  | it names 3 channels, and n_in_channels is 4
        "n_out_channels" : 3         | "n_out_channels" : 0 | its n_out_channels is 0
        "v10"                        | "u10"                | two channels have the same name
        "v10"                        | "../v10"             | names or units cannot be used
        "v10"                        | "time"               | names or units cannot be used
        "lead_step_hours" : 6        | "lead_step_hours" : 7 | is not a multiple of 6 hours
        [ 16, 32 ]                   | [ 16, 31 ]           | its grid has 16 latitudes and 32 longitudes
        [ 90.0,                      | [ 91.0,              | a latitude is not between -90 and 90
        [ 90.0,                      | [ 1.0,               | its latitudes neither all fall nor all rise
        "num_heads" : 2              | "num_heads" : 5      | num_heads
        "num_heads" : 2              | "num_heads" : "x"    | num_heads
        "architecture" : "vit"       | "architecture" : "v" | architecture
        "unit" : "K"                 | "unit" : null         | unit
        "unit" : "K"                 | "unit" : "K", "x" : 1 | x
        """)
    void aConfigurationThatContradictsItselfIsRefused(String old, String replacement, String reason)
        throws IOException {
        String text = Files.readString(run.resolve("config.json"));
        assertTrue(text.contains(old), text);
        copyModel(text.replace(old, replacement));
        UserException refused = assertThrows(UserException.class, () -> ModelDirectory.open(copy));
        assertTrue(refused.getMessage().contains(reason), refused::getMessage);
        assertTrue(refused.getMessage().contains("config.json"), refused::getMessage);
        assertFalse(refused.getMessage().contains("\n"), refused::getMessage);
    }

    @ParameterizedTest
    @CsvSource({"config.json, has no config.json", "model.safetensors, has no model.safetensors",
        "stats/global_stds.npy, cannot read array file"})
    void anIncompleteDirectoryIsRefused(String missing, String reason) throws IOException {
        copyModel(Files.readString(run.resolve("config.json")));
        Files.delete(copy.resolve(missing));
        UserException refused = assertThrows(UserException.class, () -> ModelDirectory.open(copy));
        assertTrue(refused.getMessage().contains(reason), refused::getMessage);
    }

    private void copyModel(String config) throws IOException {
        Files.createDirectories(copy.resolve("stats"));
        for (String name : List.of("model.safetensors", "stats/global_means.npy", "stats/global_stds.npy")) {
            Files.copy(run.resolve(name), copy.resolve(name));
        }
        Files.writeString(copy.resolve("config.json"), config);
    }
}
