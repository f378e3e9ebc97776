package org.isobar.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.LongStream;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A file's names, units, coordinates and times are read; times that are not those of a year are refused. */
class YearTimesTest {
    private static final CropWindow STORED = new CropWindow(2, 3, 4);
    private static final int COUNT = 5;

    @TempDir
    private Path directory;

    private Path file(String name, Map<String, ?> beside) {
        return DataFixtures.year(directory.resolve(name), COUNT, STORED, (t, c, j, i) -> t + c + j + i, beside);
    }

    @Test
    void readsWhatDescribesTheChannels() {
        Path path = file("1979.h5", Map.of("channel", new String[] {"u10", "q700"}, "units",
            new String[] {"m/s", "kg/kg"}, "lat", new double[] {10, 0, -10}, "lon", new float[] {0, 90, 180, 270}));
        try (Era5File file = Era5File.open(path)) {
            assertEquals(List.of("u10", "q700"), file.channels());
            assertEquals(List.of("m/s", "kg/kg"), file.units());
            assertArrayEquals(new double[] {10, 0, -10}, file.latitudes().orElseThrow());
            assertArrayEquals(new double[] {0, 90, 180, 270}, file.longitudes().orElseThrow());
            assertEquals(OptionalInt.empty(), file.hoursPerFrame());
        }
    }

    @Test
    void descriptionsOfAnotherSizeAreLeftOut() {
        Path path = file("1979.h5", Map.of("channel", new String[] {"u10"}, "units", new int[] {1, 2}, "lat",
            new double[] {10, Double.NaN, -10}, "lon", new double[] {0, 1}));
        try (Era5File file = Era5File.open(path)) {
            assertEquals(List.of(), file.channels());
            assertEquals(List.of(), file.units());
            assertEquals(Optional.empty(), file.latitudes());
            assertEquals(Optional.empty(), file.longitudes());
        }
    }

    @ParameterizedTest
    @CsvSource({"time, 1", "time, 3", "timestamp, 6"})
    void readsTheStep(String name, int hours) {
        Path path = file("era5_2020.h5", Map.of(name, DataFixtures.times(2020, hours, COUNT)));
        try (Era5File file = Era5File.open(path)) {
            assertEquals(OptionalInt.of(hours), file.hoursPerFrame());
        }
        assertEquals(hours, Era5Frames.hoursPerFrame(directory, 24));
    }

    @Test
    void aDataSetOfAnotherStepIsRefused() {
        DatasetConfig config = DataFixtures.config(directory, 3, 4, 1);
        DataFixtures.year(config.directory().resolve("2020.h5"), COUNT, new CropWindow(3, 3, 4), (t, c, j, i) -> t,
            Map.of("time", DataFixtures.times(2020, 1, COUNT)));
        String refusal = assertThrows(UserException.class, () -> Era5Dataset.open(config)).getMessage();
        assertTrue(refusal.contains("2020.h5 has a time step every 1 hours, expected 6. Set hours_per_frame to 1"),
            refusal);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "1980.h5 | 0 21600 43200 64800 86400 | begins at 1979-01-01 00:00:00, and not on 1 January 1980",
        "1979.h5 | 3600 7200 10800 14400 18000 | begins at 1979-01-01 01:00:00",
        "1979.h5 | 0 21600 43200 64800 | has 4 times for 5 time steps",
        "1979.h5 | 0 21600 43200 86400 108000 | time step 3 is 1979-01-02 00:00:00, after 1979-01-01 12:00:00",
        "1979.h5 | 0 21600 43200 43200 86400 | time step 3 is 1979-01-01 12:00:00, after 1979-01-01 12:00:00",
        "1979.h5 | 0 -3600 -7200 -10800 -14400 | time step 1 is 1978-12-31 23:00:00",
        "1979.h5 | 0 1800 3600 5400 7200 | has steps of 1800.0 seconds, which are no whole hours"})
    void otherTimesAreRefused(String name, String seconds, String message) {
        long first = DataFixtures.times(1979, 1, 1)[0];
        long[] times = LongStream.of(List.of(seconds.split(" ")).stream().mapToLong(Long::parseLong).toArray())
            .map(second -> first + second).toArray();
        try (Era5File file = Era5File.open(file(name, Map.of("time", times)))) {
            String refusal = assertThrows(UserException.class, file::hoursPerFrame).getMessage();
            assertTrue(refusal.contains(message), refusal);
        }
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.5, 1e300, -1e300})
    void timesFarFromAnyYearAreRefused(double first) {
        double[] times = {first, first, first, first, first};
        try (Era5File file = Era5File.open(file("1979.h5", Map.of("timestamp", times)))) {
            String refusal = assertThrows(UserException.class, file::hoursPerFrame).getMessage();
            assertTrue(refusal.contains("and not on 1 January 1979"), refusal);
        }
    }
}
