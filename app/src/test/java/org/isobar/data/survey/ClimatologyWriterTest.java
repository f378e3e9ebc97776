package org.isobar.data.survey;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.jhdf.HdfFile;
import org.isobar.data.ClimatologyFile;
import org.isobar.data.CropWindow;
import org.isobar.data.DataFixtures;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The climatology of fields whose climatology is known, read back from the file. */
class ClimatologyWriterTest {
    private static final CropWindow GRID = new CropWindow(2, 3, 5);
    private static final int DAY = 24;
    private static final long ALL = 1 << 24;

    @TempDir
    private Path directory;

    private Path year(int year, int times, DataFixtures.Formula formula) {
        return DataFixtures.year(directory.resolve("train").resolve(year + ".h5"), times, GRID, formula);
    }

    private Path write(int hoursPerFrame, long sumBytes, Path... years) {
        Path path = directory.resolve("stats").resolve("climatology.h5");
        try (YearFiles files = YearFiles.open(List.of(years))) {
            new ClimatologyWriter(files, hoursPerFrame, sumBytes).write(path, (done, total) -> { });
        }
        return path;
    }

    private static float[] field(ClimatologyFile file, int hours) {
        float[] values = new float[(int) file.stored().elements()];
        file.read(hours, file.stored(), MemorySegment.ofArray(values), 0);
        return values;
    }

    /**
     * A wave of one year is damped by the window's Fourier coefficient. The mean of day 366 is over leap years alone.
     */
    @Test
    void smoothsAWaveByTheWindowsResponse() {
        DataFixtures.Formula wave = (t, c, j, i) ->
            100 * c + 10 * j + i + 8 * (float) Math.cos(2 * Math.PI * t / 366);
        double response = 0;
        for (int k = -30; k <= 30; k++) {
            response += (1 - Math.abs(k) / 30.0) / 30 * Math.cos(2 * Math.PI * k / 366);
        }
        Path leap = year(2000, 366, (t, c, j, i) -> wave.at(t, c, j, i) + (t == 365 ? 0 : 1));
        Path common = year(2001, 365, (t, c, j, i) -> wave.at(t, c, j, i) - 1);
        try (ClimatologyFile file = ClimatologyFile.open(write(DAY, ALL, leap, common))) {
            assertEquals(DAY, file.hoursPerFrame());
            assertEquals(GRID, file.stored());
            for (int day : new int[] {0, 29, 100, 365}) {
                float[] values = field(file, day * DAY);
                for (int p = 0; p < values.length; p++) {
                    double expected = 100 * (p / 15) + 10 * (p / 5 % 3) + p % 5
                        + 8 * response * Math.cos(2 * Math.PI * day / 366);
                    assertEquals(expected, values[p], 2e-5, "day " + day + ", point " + p);
                }
            }
        }
    }

    /** Of more than fit into the first 4096 bytes of the file. */
    @Test
    void keepsNamesAndUnitsOfAllLengths() {
        String[] names = IntStream.range(0, 150).mapToObj(c -> "specific_humidity_" + c).toArray(String[]::new);
        String[] units = Stream.of(names).map(name -> "kg kg**-1").toArray(String[]::new);
        Path year = DataFixtures.year(directory.resolve("train/2000.h5"), 1, new CropWindow(150, 2, 1),
            (t, c, j, i) -> 10 * c + j, Map.of("channel", names, "units", units));
        Path path = write(DAY, ALL, year);
        try (ClimatologyFile file = ClimatologyFile.open(path); HdfFile hdf = new HdfFile(path)) {
            assertEquals(List.of(names), file.channels());
            assertEquals(1491, field(file, 0)[299]);
            assertArrayEquals(units, (String[]) hdf.getDatasetByPath("units").getData());
            assertArrayEquals(new String[] {"2000"}, (String[]) hdf.getDatasetByPath("climatology")
                .getAttribute("years").getData());
        }
        try (ClimatologyFile chosen = ClimatologyFile.open(path, List.of(names[149], names[3]))) {
            assertArrayEquals(new float[] {1490, 1491, 30, 31}, field(chosen, 0));
        }
    }

    @Test
    void weighsTheDaysByTheirDistance() {
        Path year = year(2000, 366, (t, c, j, i) -> t == 10 ? 30 : t == 365 ? 60 : 0);
        try (ClimatologyFile file = ClimatologyFile.open(write(DAY, ALL, year))) {
            int[] days = {10, 11, 39, 40, 0, 346, 345};
            double[] expected = {1 + 2 * 19 / 30.0, 29 / 30.0 + 2 * 18 / 30.0, 1 / 30.0, 0,
                20 / 30.0 + 2 * 29 / 30.0, 2 * 11 / 30.0 + 0, 2 * 10 / 30.0};
            for (int k = 0; k < days.length; k++) {
                assertEquals(expected[k], field(file, days[k] * DAY)[7], 1e-6, "day " + days[k]);
            }
        }
    }

    @Test
    void hoursOfTheDayAreSeparate() {
        Path year = year(2000, 41, (t, c, j, i) -> t % 4 * 5 + c); // ten days and a quarter
        Path path = write(6, ALL, year);
        try (ClimatologyFile file = ClimatologyFile.open(path)) {
            for (int hour = 0; hour < DAY; hour += 6) {
                assertEquals(hour / 6 * 5, field(file, hour)[0], 1e-6);
                assertEquals(hour / 6 * 5 + 1, field(file, 35 * DAY + hour)[29], 1e-6);
            }
            String message = assertThrows(UserException.class, () -> field(file, 6 + 200 * DAY)).getMessage();
            assertTrue(message.contains("no data for day 201 of the year at 6 UTC"), message);
            message = assertThrows(UserException.class, () -> field(file, 3)).getMessage();
            assertTrue(message.contains("every 6 hours"), message);
            assertThrows(UserException.class, () -> field(file, 366 * DAY));
            message = assertThrows(UserException.class, () -> file.read(0, new CropWindow(2, 4, 5),
                MemorySegment.ofArray(new float[40]), 0)).getMessage();
            assertTrue(message.contains("smaller than the 2 x 4 x 5"), message);
        }
    }

    /** Bands of four rows give the same bytes as all rows at once; so does compressed data. */
    @Test
    void bandsAndStorageDoNotMatter() throws IOException {
        Path contiguous = DataFixtures.resource("little.h5");
        byte[] whole = Files.readAllBytes(write(6, ALL, contiguous));
        for (String name : List.of("little", "chunked_gzip", "chunked_big", "double_big")) {
            for (long bytes : new long[] {1464 * 7 * 8 * 4, ALL}) {
                byte[] other = Files.readAllBytes(write(6, bytes, DataFixtures.resource(name + ".h5")));
                assertTrue(Arrays.equals(whole, 4096, whole.length, other, 4096, other.length), name + " " + bytes);
            }
        }
        float[] values = new float[3 * 5 * 7];
        try (ClimatologyFile file = ClimatologyFile.open(directory.resolve("stats/climatology.h5"))) {
            file.read(12, file.stored(), MemorySegment.ofArray(values), 0);
        }
        float[] expected = new float[values.length];
        for (int p = 0; p < expected.length; p++) {
            expected[p] = DataFixtures.value(2, p / 35, p / 7 % 5, p % 7);
        }
        assertArrayEquals(expected, values, 1e-3f);
    }

    @Test
    void reportsProgressToTheEnd() {
        AtomicLong most = new AtomicLong();
        try (YearFiles files = YearFiles.open(List.of(DataFixtures.resource("little.h5")))) {
            ClimatologyWriter writer = new ClimatologyWriter(files, 6, ALL);
            int empty = writer.write(directory.resolve("c.h5"), (done, total) -> {
                assertEquals(4 * 105 * 4 + writer.bytes() - 4096, total);
                most.accumulateAndGet(done, Math::max);
            });
            assertEquals(4 * 105 * 4 + writer.bytes() - 4096, most.get());
            assertEquals(4 * (366 - 59), empty);
        }
    }

    @Test
    void refusesWhatHasNoClimatology() {
        Path nan = year(1999, 3, (t, c, j, i) -> t == 2 && c == 1 && j == 2 && i == 4 ? Float.NaN : 1);
        assertRefused("1999.h5 holds NaN at time step 2, channel 1 (v10), row 2, column 4", () -> write(6, ALL, nan));
        assertFalse(Files.exists(directory.resolve("stats/climatology.h5")));
        Path year = year(2000, 3, (t, c, j, i) -> 1);
        assertRefused("--hours_per_frame to 1, 2, 3", () -> write(5, ALL, year));
        Path daily = year(2001, 367, (t, c, j, i) -> 1);
        assertRefused("366 days have 366 that are 24 hours apart", () -> write(DAY, ALL, daily));
        assertRefused("is named twice", () -> write(6, ALL, year, year));
        assertRefused("Name files of one grid only", () -> write(6, ALL, year, DataFixtures.resource("little.h5")));
        assertRefused("has no data set 'climatology'", () -> ClimatologyFile.open(year));
    }

    private static void assertRefused(String part, Runnable action) {
        String message = assertThrows(UserException.class, action::run).getMessage();
        assertTrue(message.contains(part), message);
    }
}
