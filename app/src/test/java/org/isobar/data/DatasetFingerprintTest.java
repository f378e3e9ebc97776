package org.isobar.data;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.function.UnaryOperator;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Copies of a data set have the same fingerprint, other data sets have another one. */
class DatasetFingerprintTest {
    private static final CropWindow STORED = new CropWindow(4, 4, 6);
    private static final int TIMES = 7;

    @TempDir
    private Path directory;

    /** A data set of two equal years, except that one element of one year is larger by 0.001. */
    private DatasetConfig data(String name, int year, int time, int channel, int row) {
        for (int one = 1979; one <= 1980; one++) {
            int first = one == year ? time : -1;
            DataFixtures.year(directory.resolve(name).resolve("train/" + one + ".h5"), TIMES, STORED, (t, c, j, i) ->
                1000 * t + 100 * c + 10 * j + i + (t == first && c == channel && j == row && i == 2 ? 0.001f : 0));
        }
        return DataFixtures.config(directory.resolve(name), 3, 5, 1);
    }

    private DatasetConfig data(String name) {
        return data(name, 0, 0, 0, 0);
    }

    private static String fingerprint(DatasetConfig config) {
        try (Era5Dataset data = Era5Dataset.open(config)) {
            return DatasetFingerprint.of(data);
        }
    }

    private static DatasetConfig with(DatasetConfig config, Path stds, int width, int channels, int dt) {
        return new DatasetConfig(config.directory(), config.meansFile(), stds, config.height(), width, channels,
            config.outChannels(), dt, config.limit());
    }

    @Test
    void copiesHaveTheSameFingerprint() {
        String fingerprint = fingerprint(data("here"));
        assertEquals(fingerprint, fingerprint(data("there")));
        assertTrue(fingerprint.matches("14 samples, 7 a year, of 3 x 3 x 5 to 2 channels, dt 1:( [0-9a-f]{8}){4}"),
            fingerprint);
    }

    /** With the tutorial's indexing, the first and the last sample go from time 1 to time 2 of their years. */
    @Test
    void aSingleNumberChangesTheFingerprint() {
        String fingerprint = fingerprint(data("sound"));
        assertNotEquals(fingerprint, fingerprint(data("first input", 1979, 1, 2, 2)));
        assertNotEquals(fingerprint, fingerprint(data("first target", 1979, 2, 1, 0)));
        assertNotEquals(fingerprint, fingerprint(data("last input", 1980, 1, 0, 1)));
        assertNotEquals(fingerprint, fingerprint(data("last target", 1980, 2, 0, 2)));
        assertEquals(fingerprint, fingerprint(data("unused channel", 1979, 1, 3, 0)));
        assertEquals(fingerprint, fingerprint(data("unused row", 1980, 1, 0, 3)));
    }

    @Test
    void theConfigurationChangesTheFingerprint() {
        DatasetConfig config = data("data");
        String fingerprint = fingerprint(config);
        Path others = DataFixtures.statistics(directory.resolve("others.npy"), 2, 4, 8.5);
        List<UnaryOperator<DatasetConfig>> changes = List.of(
            same -> DataFixtures.limited(same, 6),
            same -> with(same, others, 5, 3, 1),
            same -> with(same, same.stdsFile(), 4, 3, 1),
            same -> with(same, same.stdsFile(), 5, 2, 1),
            same -> with(same, same.stdsFile(), 5, 3, 2));
        changes.forEach(change -> assertNotEquals(fingerprint, fingerprint(change.apply(config))));
        assertEquals(fingerprint, fingerprint(DataFixtures.limited(config, 14)));
    }

    @Test
    void theLengthsOfYearsAreInTheFingerprint() {
        DatasetConfig config = data("data");
        DataFixtures.year(config.directory().resolve("1980.h5"), TIMES + 1, STORED, (t, c, j, i) -> t);
        assertTrue(fingerprint(config).startsWith("15 samples, 7 to 8 a year, of "), fingerprint(config));
    }
}
