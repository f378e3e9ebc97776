package org.isobar.data.survey;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

import org.isobar.data.CropWindow;
import org.isobar.data.DataFixtures;
import org.isobar.data.NpyFile;
import org.isobar.data.synthetic.SyntheticConfig;
import org.isobar.data.synthetic.SyntheticEra5;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Statistics are those that NumPy computes in float64, which wrote the expected numbers. */
class ChannelStatisticsTest {
    @TempDir
    private Path directory;

    private static ChannelStatistics of(Path... paths) {
        try (YearFiles years = YearFiles.open(List.of(paths))) {
            return StatisticsScan.of(years, (done, total) -> { });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"little", "double_big", "chunked", "chunked_gzip", "chunked_double"})
    void everyStorageGivesTheSame(String name) {
        ChannelStatistics statistics = of(DataFixtures.resource(name + ".h5"));
        assertArrayEquals(new double[] {1523.25, 1623.25, 1723.25}, statistics.means(), 1e-9);
        double deviation = 1118.1252166014324;
        assertArrayEquals(new double[] {deviation, deviation, deviation}, statistics.deviations(), 1e-9);
        assertArrayEquals(new double[] {0.25, 100.25, 200.25}, statistics.least());
        assertArrayEquals(new double[] {3046.25, 3146.25, 3246.25}, statistics.greatest());
        assertEquals(1500 + 100 + 20 + 3 + 0.25, statistics.timeMeans()[35 + 2 * 7 + 3], 1e-9);
    }

    /** Files of different lengths; the deviation is small against the mean. */
    @Test
    void filesAreWeighedByTheirLength() {
        DataFixtures.Formula formula = (t, c, j, i) -> 100_000 * c + (t * 37 + j * 11 + i * 5) % 23 * 0.25f;
        CropWindow grid = new CropWindow(2, 7, 9);
        DataFixtures.year(directory.resolve("1979.h5"), 5, grid, formula);
        DataFixtures.year(directory.resolve("1980.h5"), 3, grid, formula);
        ChannelStatistics statistics = of(directory);
        assertArrayEquals(new double[] {2.759920634920635, 100002.75992063493}, statistics.means(), 1e-9);
        assertArrayEquals(new double[] {1.657235456650789, 1.6572354566507894}, statistics.deviations(), 1e-11);
        assertArrayEquals(new double[] {0, 100000}, statistics.least());
        assertArrayEquals(new double[] {5.5, 100005.5}, statistics.greatest());
        assertEquals(2.71875, statistics.timeMeans()[2 * 9 + 3], 1e-12);
        assertEquals(100002.71875, statistics.timeMeans()[125], 1e-9);
        statistics.write(directory.resolve("stats"), "--out");
        NpyFile means = NpyFile.read(directory.resolve("stats/global_means.npy"));
        assertArrayEquals(new long[] {1, 2, 1, 1}, means.shape().extents());
        assertEquals(2.759920634920635, means.values()[0], 1e-6 * 2.76);
        NpyFile timeMeans = NpyFile.read(directory.resolve("stats/time_means.npy"));
        assertArrayEquals(new long[] {1, 2, 7, 9}, timeMeans.shape().extents());
        assertEquals(2.71875, timeMeans.values()[21], 1e-6);
        assertEquals(5.5, NpyFile.read(directory.resolve("stats/maxs.npy")).values()[0]);
    }

    /** Frames of several blocks, and the statistics that the synthetic data come with. */
    @Test
    void equalThoseOfSyntheticData() {
        SyntheticEra5.write(new SyntheticConfig(36, 500, 2, 1, 0, 4, 3), directory, SyntheticEra5.Existing.KEEP,
            line -> { });
        AtomicLong most = new AtomicLong();
        try (YearFiles years = YearFiles.open(List.of(directory.resolve("train")))) {
            StatisticsScan.of(years, (done, total) -> {
                assertEquals(2L * 4 * 20 * 36 * 500 * 4, total);
                most.accumulateAndGet(done, Math::max);
            }).write(directory.resolve("mine"), "--out");
        }
        assertEquals(2L * 4 * 20 * 36 * 500 * 4, most.get());
        for (String name : List.of("global_means.npy", "global_stds.npy", "time_means.npy")) {
            NpyFile made = NpyFile.read(directory.resolve("stats").resolve(name));
            NpyFile mine = NpyFile.read(directory.resolve("mine").resolve(name));
            assertEquals(made.shape(), mine.shape());
            for (int i = 0; i < made.values().length; i++) {
                assertEquals(made.values()[i], mine.values()[i], 1e-6 * Math.abs(made.values()[i]) + 1e-9, name + i);
            }
        }
    }

    @Test
    void refusesFilesOfAnotherGrid() {
        Path south = year(1999, 0, 1, 2);
        Path north = year(2000, 2, 1, 0);
        String message = assertThrows(UserException.class, () -> of(south, north)).getMessage();
        assertTrue(message.contains("2000.h5 has latitude 2.0 in row 0, where " + south + " has 0.0. Use"), message);
    }

    private Path year(int year, double... latitudes) {
        return DataFixtures.year(directory.resolve(year + ".h5"), 3, new CropWindow(2, 3, 5), (t, c, j, i) -> i,
            Map.of("lat", latitudes));
    }

    @Test
    void refusesNumbersThatAreNotFinite() {
        Path path = DataFixtures.year(directory.resolve("2000.h5"), 3, new CropWindow(2, 3, 5),
            (t, c, j, i) -> t == 1 && c == 0 && j == 2 && i == 1 ? Float.NEGATIVE_INFINITY : 1);
        String message = assertThrows(UserException.class, () -> of(path)).getMessage();
        assertTrue(message.contains("2000.h5 holds -Infinity at time step 1, channel 0 (u10), row 2"), message);
    }
}
