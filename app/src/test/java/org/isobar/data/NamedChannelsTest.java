package org.isobar.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

import org.isobar.data.channels.ChannelChoice;
import org.isobar.data.channels.TimeChannels;
import org.isobar.fault.UserException;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Channels are read by name, with their statistics, wherever a file has them; input-only channels follow. */
class NamedChannelsTest {
    private static final CropWindow STORED = new CropWindow(4, 3, 8);
    private static final String[] NAMES = {"u10", "t2m", "q700", "lsm"};

    @TempDir
    private Path directory;

    private Path year(int year, String... names) {
        return DataFixtures.year(directory.resolve("train/" + year + ".h5"), 5, STORED, (t, c, j, i) ->
            (names[c].equals("lsm") ? 0 : 1000 * t) + 100 * List.of(NAMES).indexOf(names[c]) + 10 * j + i,
            Map.of("channel", names, "units", new String[] {"1", "2", "3", "4"}));
    }

    /** Statistics of the four channels, in the order of {@link #NAMES}: means 1 to 4, spreads 2, 4, 8 and 16. */
    private DatasetConfig config(ChannelChoice choice, int outChannels) {
        Path stats = directory.resolve("stats");
        return new DatasetConfig(directory.resolve("train"), DataFixtures.statistics(stats.resolve("m.npy"), 1, 2, 3,
            4), DataFixtures.statistics(stats.resolve("s.npy"), 2, 4, 8, 16), 2, 5,
            choice.variables().size() + choice.inputOnly(), outChannels, 1, 6, OptionalLong.empty(), choice);
    }

    private static ChannelChoice variables(String... names) {
        return new ChannelChoice(List.of(names), List.of(), Optional.empty(), false);
    }

    private static float[] input(DatasetConfig config, long sample) {
        float[] input = new float[(int) config.input().elements()];
        float[] target = new float[(int) config.target().elements()];
        try (Era5Dataset data = Era5Dataset.open(config)) {
            data.read(sample, MemorySegment.ofArray(input), 0, MemorySegment.ofArray(target), 0);
        }
        return input;
    }

    @Test
    void aFileOfAnotherOrderHasTheSameSamples() {
        year(1979, NAMES);
        year(1980, "lsm", "q700", "u10", "t2m");
        DatasetConfig config = config(variables("q700", "u10"), 1);
        float[] first = input(config, 2);
        for (int p = 0; p < 10; p++) {
            assertEquals((2000 + 200 + p / 5 * 10 + p % 5 - 3) / 8f, first[p]);
            assertEquals((2000 + p / 5 * 10 + p % 5 - 1) / 2f, first[10 + p]);
        }
        assertArrayEquals(first, input(config, 7));
    }

    @Test
    void chosenChannelsHaveTheirNamesInMessages() {
        DataFixtures.year(directory.resolve("train/1979.h5"), 5, STORED, (t, c, j, i) -> t == 3 && c == 2
            ? Float.NaN : t, Map.of("channel", NAMES));
        try (Era5Dataset data = Era5Dataset.open(config(variables("q700"), 1))) {
            assertEquals("channel 2 (q700)", data.firstNonFinite(3).orElseThrow().channel());
            assertTrue(DatasetFingerprint.of(data).contains("of 1 x 2 x 5 (q700) to 1 channels"));
        }
    }

    @Test
    void constantsAndTimeFollowTheVariables() {
        year(1979, NAMES);
        ChannelChoice choice = new ChannelChoice(List.of("t2m"), List.of("lsm"), Optional.empty(), true);
        float[] input = input(config(choice, 1), 2);
        float[] lsm = {300, 301, 302, 303, 304, 310, 311, 312, 313, 314};
        double mean = 307;
        double spread = Math.sqrt(27); // of the two rows 5^2, and of the five columns 2
        for (int p = 0; p < 10; p++) {
            assertEquals((lsm[p] - mean) / spread, input[10 + p], 1e-6);
        }
        float[] noon = TimeChannels.at(LocalDateTime.of(1979, 1, 1, 12, 0));
        for (int i = 0; i < 40; i++) {
            assertEquals(noon[i / 10], input[20 + i]);
        }
    }

    /** A device that normalizes receives all input channels as they are stored. */
    @Test
    void inputsThatAreNormalizedLaterAreTheSame() {
        year(1979, NAMES);
        DatasetConfig config =
            config(new ChannelChoice(List.of("q700", "t2m"), List.of("lsm"), Optional.empty(), true), 1);
        float[] raw = new float[70];
        float[] target = new float[10];
        try (Era5Dataset data = Era5Dataset.open(config)) {
            data.readRaw(3, MemorySegment.ofArray(raw), 0, MemorySegment.ofArray(target), 0);
            for (int i = 0; i < raw.length; i++) {
                raw[i] = (raw[i] - data.normalization().means()[i / 10]) / data.normalization().spreads()[i / 10];
            }
        }
        assertArrayEquals(input(config, 3), raw);
    }

    @Test
    void constantsComeFromAFileOfTheirOwn() {
        year(1979, NAMES);
        Path array = directory.resolve("constants.npy");
        double[] values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
        new NpyFile(DType.F32, Shape.of(1, 1, 2, 5), values).write(array);
        Path file = DataFixtures.year(directory.resolve("constants.h5"), 1, new CropWindow(2, 2, 5),
            (t, c, j, i) -> c == 0 ? 7 : 5 * j + i, Map.of("channel", new String[] {"x", "z_sfc"}));
        for (Path source : List.of(array, file)) {
            ChannelChoice choice = new ChannelChoice(List.of("t2m"), List.of("z_sfc"), Optional.of(source), false);
            InputDescription inputs = Era5Dataset.describe(config(choice, 1));
            assertArrayEquals(new float[] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, inputs.extra().constants());
            assertArrayEquals(new float[] {2, 4.5f}, inputs.normalization().means());
            assertEquals(List.of("t2m", "z_sfc"), inputs.names());
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "x | '' | constants.h5 has 7.0 everywhere in the constant field x",
        "lsm | '' | constants.h5 has no channel lsm. It has: x, z_sfc, nan",
        "nan | '' | constants.h5 holds NaN in the constant field nan, row 0, column 0",
        "z_sfc | .npy | has shape [1, 2, 2, 5], expected [1, 1, 2, 5]",
        "z_sfc | .missing | constants.h5.missing: No such file"})
    void unusableConstantsAreRefused(String name, String ending, String message) {
        year(1979, NAMES);
        Path file = DataFixtures.year(directory.resolve("constants.h5"), 1, new CropWindow(3, 2, 5),
            (t, c, j, i) -> c == 0 ? 7 : c == 1 ? 5 * j + i : Float.NaN,
            Map.of("channel", new String[] {"x", "z_sfc", "nan"}));
        new NpyFile(DType.F32, Shape.of(1, 2, 2, 5), new double[20]).write(Path.of(file + ".npy"));
        assertRefused(new ChannelChoice(List.of("t2m"), List.of(name), Optional.of(Path.of(file + ending)), false),
            message);
    }

    /** The model reads the first two rows of the data, which are those of a region in the larger file. */
    @Test
    void constantsOfAnotherGridAreRefused() {
        double[] region = {50, 40, 30};
        DataFixtures.year(directory.resolve("train/1979.h5"), 5, STORED, (t, c, j, i) -> t,
            Map.of("channel", NAMES, "lat", region));
        assertEquals(1, Era5Dataset.describe(config(constants(50, 40), 1)).extra().count());
        assertRefused(constants(70, 60, 50, 40, 30), "constants.h5 has latitude 70.0 in row 0, where data file "
            + directory.resolve("train/1979.h5") + " has 50.0. Use data on the same grid");
    }

    private ChannelChoice constants(double... latitudes) {
        Path file = DataFixtures.year(directory.resolve("constants.h5"), 1, new CropWindow(1, latitudes.length, 5),
            (t, c, j, i) -> 5 * j + i, Map.of("channel", new String[] {"z_sfc"}, "lat", latitudes));
        return new ChannelChoice(List.of("t2m"), List.of("z_sfc"), Optional.of(file), false);
    }

    @ParameterizedTest
    @CsvSource({"wind, 'has no channel wind. It has: u10, t2m, q700, lsm. Change channels'",
        "T2M, has no channel T2M"})
    void aMissingNameIsReportedWithThoseThatAreThere(String name, String message) {
        year(1979, NAMES);
        assertRefused(variables("u10", name), message);
    }

    @Test
    void aNameThatOccursTwiceIsRefused() {
        year(1979, "u10", "t2m", "u10", "lsm");
        assertRefused(variables("u10"), "has two channels u10, number 0 and number 2");
    }

    @Test
    void aLaterFileWithoutANameIsRefused() {
        year(1979, NAMES);
        year(1980, "lsm", "t2m", "q850", "u10");
        assertRefused(variables("q700"), "1980.h5 has no channel q700");
    }

    @Test
    void filesWithoutNamesAreRefused() {
        DataFixtures.year(directory.resolve("train/1979.h5"), 5, STORED, (t, c, j, i) -> t);
        assertRefused(variables("u10"), "1979.h5 does not name its 4 channels, so none can be read by name");
    }

    @Test
    void statisticsOfOtherFilesAreRefused() {
        DataFixtures.year(directory.resolve("train/1979.h5"), 5, new CropWindow(3, 3, 8), (t, c, j, i) -> t,
            Map.of("channel", new String[] {"u10", "t2m", "q700"}));
        assertRefused(variables("u10"), "m.npy has shape [1, 4, 1, 1], and data file " + directory
            + "/train/1979.h5 has 3 channels");
    }

    private void assertRefused(ChannelChoice choice, String message) {
        String refusal = assertThrows(UserException.class, () -> Era5Dataset.open(config(choice, 1))).getMessage();
        assertTrue(refusal.contains(message), refusal);
    }

    @Test
    void filesOfTheTutorialHaveItsNames() {
        Path file = DataFixtures.year(directory.resolve("1979.h5"), 1, new CropWindow(20, 1, 2),
            (t, c, j, i) -> 10 * c + i);
        float[] read = new float[4];
        try (Era5File year = Era5File.open(file, List.of("z500", "v10"))) {
            year.read(0, year.stored(), Normalization.none(2), MemorySegment.ofArray(read), 0);
        }
        assertArrayEquals(new float[] {140, 141, 10, 11}, read);
    }

    /** Chunks of two channels, written by h5py. */
    @Test
    void readsChosenChannelsOfCompressedChunks() {
        try (Era5File file = Era5File.open(DataFixtures.resource("named_1979.h5"), List.of("q700", "u10"))) {
            assertEquals(List.of("kg/kg", "m/s"), file.units());
            assertEquals(OptionalInt.of(1), file.hoursPerFrame());
            assertEquals(-90, file.latitudes().orElseThrow()[4]);
            float[] read = new float[2 * 4 * 6];
            file.read(3, new CropWindow(2, 4, 6), Normalization.none(2), MemorySegment.ofArray(read), 0);
            for (int p = 0; p < read.length; p++) {
                assertEquals(DataFixtures.value(3, p < 24 ? 2 : 0, p % 24 / 6, p % 6), read[p]);
            }
        }
    }

    @Test
    void daysAndYearsAreCircles() {
        assertArrayEquals(new float[] {0, 1, 0, 1}, TimeChannels.at(LocalDateTime.of(2020, 1, 1, 0, 0)));
        float[] evening = TimeChannels.at(LocalDateTime.of(2019, 7, 2, 12, 0)); // the middle of 365 days
        assertArrayEquals(new float[] {0, -1, 0, -1}, evening, 1e-6f);
        assertArrayEquals(new float[] {1, 0, 0, -1}, TimeChannels.at(LocalDateTime.of(2020, 7, 2, 6, 0)), 0.005f);
    }
}
