package org.isobar.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Indexing and normalization are the tutorial's; invalid data is refused when it is opened. */
class Era5DatasetTest {
    private static final CropWindow STORED = new CropWindow(4, 3, 8);

    @TempDir
    private Path directory;

    private void year(String name, int times) {
        int number = Integer.parseInt(name.substring(name.length() - 4));
        DataFixtures.year(directory.resolve("train").resolve(name + ".h5"), times, STORED,
            (t, c, j, i) -> 10_000 * (number - 1979) + 1000 * t + 100 * c + 10 * j + i);
    }

    /** Input times of the samples of one year, computed by hand from the tutorial's indexing. */
    @ParameterizedTest
    @CsvSource({"1, 1 1 2 3 1", "2, 2 3 2 3 4 2 3"})
    void indexesAsTheTutorial(int dt, String times) {
        List<Integer> expected = Stream.of(times.split(" ")).map(Integer::valueOf).toList();
        int n = expected.size();
        year("1979", n);
        year("run_1980", n);
        try (Era5Dataset data = Era5Dataset.open(DataFixtures.config(directory, 3, 8, dt))) {
            assertEquals(2 * n, data.size());
            for (int sample = 0; sample < 2 * n; sample++) {
                assertEquals(sample / n, data.years().yearOf(sample));
                assertEquals(expected.get(sample % n), data.years().timeOf(sample), "sample " + sample);
            }
        }
    }

    @Test
    void readsNormalizedWindowsOfInputAndTarget() {
        year("1979", 5);
        year("1980", 5);
        try (Era5Dataset data = Era5Dataset.open(DataFixtures.config(directory, 2, 5, 1))) {
            float[] input = new float[3 * 10 + 1];
            float[] target = new float[2 * 10 + 2];
            data.read(7, MemorySegment.ofArray(input), 4, MemorySegment.ofArray(target), 8);
            for (int c = 0; c < 3; c++) {
                for (int p = 0; p < 10; p++) {
                    float stored = 10_000 + 2000 + 100 * c + p / 5 * 10 + p % 5;
                    assertEquals((stored - (c + 1)) / (2 << c), input[1 + c * 10 + p]);
                    if (c < 2) {
                        assertEquals((stored + 1000 - (c + 1)) / (2 << c), target[2 + c * 10 + p]);
                    }
                }
            }
        }
    }

    @Test
    void reportsItsFilesAndSize() {
        year("1980", 5);
        year("1979", 5);
        Path train = directory.resolve("train");
        DatasetConfig config = DataFixtures.config(directory, 2, 5, 1);
        try (Era5Dataset data = Era5Dataset.open(DataFixtures.limited(config, 7))) {
            assertEquals(List.of(train.resolve("1979.h5"), train.resolve("1980.h5")), data.files());
            assertEquals(7, data.size());
            assertEquals(5, data.years().samples(0));
        }
        try (Era5Dataset data = Era5Dataset.open(DataFixtures.limited(config, 700))) {
            assertEquals(10, data.size());
        }
    }

    @Test
    void findsTheFirstNonFiniteNumber() {
        Path path = DataFixtures.year(directory.resolve("train/1979.h5"), 5, STORED,
            (t, c, j, i) -> t == 3 && c == 1 && j == 2 && i >= 5 ? Float.NaN : 1);
        try (Era5Dataset data = Era5Dataset.open(DataFixtures.config(directory, 3, 8, 1))) {
            assertTrue(data.firstNonFinite(1).isEmpty());
            NonFiniteValue inTarget = data.firstNonFinite(2).orElseThrow();
            NonFiniteValue inInput = data.firstNonFinite(3).orElseThrow();
            assertEquals(new NonFiniteValue(2, path, 3, "channel 1 (v10)", 2, 5, Float.NaN), inTarget);
            assertEquals(new NonFiniteValue(3, path, 3, "channel 1 (v10)", 2, 5, Float.NaN), inInput);
            assertEquals("NaN in sample 3: " + path + ", time step 3, channel 1 (v10), row 2, column 5",
                inInput.toString());
        }
    }

    /** A leap year, a common year and an incomplete one. */
    @Test
    void everyYearHasItsOwnLength() {
        year("1980", 6);
        year("1981", 5);
        year("1982", 3);
        DatasetConfig config = DataFixtures.config(directory, 3, 8, 1);
        try (Era5Dataset data = Era5Dataset.open(config)) {
            YearIndex years = data.years();
            assertEquals(14, data.size());
            assertEquals(List.of(0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2),
                IntStream.range(0, 14).mapToObj(years::yearOf).toList());
            assertEquals(List.of(1, 1, 2, 3, 4, 1, 1, 1, 2, 3, 1, 1, 1, 1),
                IntStream.range(0, 14).mapToObj(years::timeOf).toList());
            assertEquals("3 to 6", years.lengths());
            float[] target = new float[2 * 3 * 8];
            data.read(9, MemorySegment.ofArray(new float[3 * 3 * 8]), 0, MemorySegment.ofArray(target), 0);
            assertEquals((20_000 + 4000 - 1) / 2f, target[0]);
        }
        try (Era5Dataset data = Era5Dataset.open(DataFixtures.limited(config, 6))) {
            assertEquals(6, data.size());
            assertTrue(data.years().isUniform(), "the years that are used");
        }
    }

    @Test
    void aYearThatIsTooShortIsNamed() {
        year("1979", 6);
        year("1980", 2);
        DatasetConfig config = DataFixtures.config(directory, 3, 8, 1);
        assertRefused(config, "1980.h5 holds 2 time steps, too few for dt = 1 (sample 6 needs step 2)");
        try (Era5Dataset data = Era5Dataset.open(DataFixtures.limited(config, 6))) {
            assertEquals(6, data.size());
        }
    }

    @Test
    void refusesStepsThatLeaveTheYear() {
        year("1979", 5);
        assertRefused(DataFixtures.config(directory, 3, 8, 2), "sample 1 needs step 5");
        assertRefused(DataFixtures.config(directory, 3, 8, 5), "too few for dt = 5");
    }

    @Test
    void refusesDirectoriesWithoutData() throws IOException {
        DatasetConfig config = DataFixtures.config(directory, 3, 8, 1);
        assertRefused(config, "no data directory " + config.directory());
        Files.createDirectories(config.directory());
        Files.writeString(config.directory().resolve("notes.txt"), "nothing");
        assertRefused(config, "holds no HDF5 files");
        Files.writeString(config.directory().resolve("data.h5"), "nothing");
        assertRefused(config, "does not end in a year");
    }

    @Test
    void refusesTooFewChannelsAndSmallImages() {
        year("1979", 5);
        assertRefused(DataFixtures.config(directory, 4, 8, 1), "3 x 8, smaller than the configured img_size of 4 x 8");
        assertRefused(DataFixtures.config(directory, 3, 9, 1), "img_size of 3 x 9");
        DataFixtures.year(directory.resolve("train/1980.h5"), 5, new CropWindow(2, 3, 8), (t, c, j, i) -> 0);
        assertRefused(DataFixtures.config(directory, 3, 8, 1), "1980.h5 has 2 channels, 3 are configured");
    }

    /** The year has what is not an empty list: names, latitudes and longitudes. */
    private Path described(String year, String names, String lats, String lons) {
        Map<String, Object> beside = new HashMap<>();
        if (!names.isEmpty()) {
            beside.put("channel", names.split(" "));
        }
        Map.of("lat", lats, "lon", lons).forEach((name, list) -> {
            if (!list.isEmpty()) {
                beside.put(name, Stream.of(list.split(" ")).mapToDouble(Double::parseDouble).toArray());
            }
        });
        return DataFixtures.year(directory.resolve("train").resolve(year + ".h5"), 5, new CropWindow(4, 3, 4),
            (t, c, j, i) -> t, beside);
    }

    /** The model reads three channels, three rows and three columns. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        a c b d | ''      | ''          | has c as channel 1, where the first training file has b. Use files
        ''      | 0 1 2   | ''          | has latitude 0.0 in row 0, where the first training file has 2.0. Use data
        a b c d | 2 1 0.1 | ''          | has latitude 0.1 in row 2, where the first training file has 0.0. Use data
        ''      | 2 1 0   | 90 91 92 93 | has longitude 90.0 in column 0, where the first training file has 0.0. Use
        """)
    void refusesFilesOfOtherChannelsOrAnotherGrid(String names, String lats, String lons, String reason)
        throws IOException {
        described("1979", "a b c d", "2 1 0", "0 1 2 3");
        DatasetConfig config = DataFixtures.config(directory, 3, 3, 1);
        try (Era5Dataset first = Era5Dataset.open(config)) {
            Path other = described("1980", names, lats, lons);
            assertRefused(config, "1980.h5 " + reason);
            try (Era5Dataset shared = Era5Dataset.openShared(config, () -> List.of(5, 5))) {
                float[] sample = new float[50];
                assertThrows(UserException.class, () ->
                    shared.read(6, MemorySegment.ofArray(sample), 0, MemorySegment.ofArray(sample), 120));
            }
            Files.delete(directory.resolve("train/1979.h5"));
            String ofOtherData = assertThrows(UserException.class, () -> Era5Dataset.open(config, first.inputs()))
                .getMessage();
            assertTrue(ofOtherData.contains(other + " " + reason), ofOtherData);
        }
    }

    /** What a file does not say, what the model does not read, and rounding are no differences. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"''|''|''", "a b c e|2 1.00001 0|''", "''|''|360 1 -358 93"})
    void acceptsFilesThatSayLess(String names, String lats, String lons) {
        described("1979", "a b c d", "2 1 0", "0 1 2 3");
        described("1980", names, lats, lons);
        try (Era5Dataset data = Era5Dataset.open(DataFixtures.config(directory, 3, 3, 1))) {
            assertEquals(10, data.size());
        }
    }

    @Test
    void refusesMoreSamplesThanCanBeCounted() throws IOException {
        DatasetConfig config = DataFixtures.config(directory, 1, 1, 1);
        Files.createDirectories(config.directory());
        for (String year : new String[] {"1979.h5", "1980.h5"}) {
            Files.copy(DataFixtures.resource("many_samples.h5"), config.directory().resolve(year));
        }
        assertRefused(config, "has 2147483648 samples, and at most 2147483647 can be used");
    }

    @Test
    void refusesInvalidStatistics() {
        year("1979", 5);
        DatasetConfig config = DataFixtures.config(directory, 3, 8, 1);
        DataFixtures.statistics(config.meansFile(), 0, 0);
        assertRefused(config, "shape [1, 2, 1, 1], expected [1, C, 1, 1] with C at least 3");
        DataFixtures.statistics(config.meansFile(), 0, Double.NaN, 0);
        assertRefused(config, "holds NaN for channel 1 (v10)");
        DataFixtures.statistics(config.meansFile(), 0, 0, 0);
        for (double spread : new double[] {0, -1, Double.POSITIVE_INFINITY}) {
            DataFixtures.statistics(config.stdsFile(), 1, 1, spread);
            assertRefused(config, "holds " + spread + " for channel 2 (t2m), expected a finite positive number");
        }
        DataFixtures.statistics(config.stdsFile(), 1, 1e-40, 1);
        assertRefused(config, "Statistics file " + config.stdsFile() + " holds the standard deviation 1.0E-40 for "
            + "channel 1 (v10), by which a mean of 0.0 cannot be divided");
        DataFixtures.statistics(config.meansFile(), 3e20, 0, 0);
        DataFixtures.statistics(config.stdsFile(), 1e-20, 1, 1);
        assertRefused(config, "for channel 0 (u10), by which a mean of 3.0E20 cannot be divided");
    }

    private static void assertRefused(DatasetConfig config, String reason) {
        String message = assertThrows(UserException.class, () -> Era5Dataset.open(config).close()).getMessage();
        assertTrue(message.contains(reason), message);
    }

    /** Another rank than 0 reads the same numbers, and opens only the files that it reads. */
    @Test
    void opensOnlyWhatItReadsIfRankZeroKnowsTheYears() {
        for (String name : List.of("1979", "1980", "1981", "1982")) {
            year(name, 5);
        }
        DatasetConfig config = DataFixtures.config(directory, 2, 5, 1);
        try (Era5Dataset all = Era5Dataset.open(config);
            Era5Dataset shared = Era5Dataset.openShared(config, all::times)) {
            assertEquals(4, all.openFiles());
            assertEquals(1, shared.openFiles());
            assertEquals(all.size(), shared.size());
            for (int sample : new int[] {12, 14, 13, 1}) {
                float[] expected = new float[50];
                float[] actual = new float[50];
                all.read(sample, MemorySegment.ofArray(expected), 0, MemorySegment.ofArray(expected), 120);
                shared.read(sample, MemorySegment.ofArray(actual), 0, MemorySegment.ofArray(actual), 120);
                assertArrayEquals(expected, actual);
            }
            assertEquals(2, shared.openFiles());
        }
    }

    @Test
    void ranksWithOtherFilesAreRefused() {
        year("1979", 5);
        year("1980", 5);
        DatasetConfig config = DataFixtures.config(directory, 2, 5, 1);
        assertTrue(assertThrows(UserException.class, () -> Era5Dataset.openShared(config, () -> List.of(5)))
            .getMessage().contains("holds other files than at rank 0: 2 years, of which the first has 5 time steps"));
        try (Era5Dataset shared = Era5Dataset.openShared(config, () -> List.of(5, 7))) {
            float[] sample = new float[50];
            assertTrue(assertThrows(UserException.class, () ->
                shared.read(6, MemorySegment.ofArray(sample), 0, MemorySegment.ofArray(sample), 120)).getMessage()
                .contains("1980.h5 holds 5 time steps, and 7 at rank 0"));
        }
    }
}
