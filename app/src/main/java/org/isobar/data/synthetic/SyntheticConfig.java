package org.isobar.data.synthetic;

import org.isobar.data.Hdf5Header;
import org.isobar.fault.UserException;

/**
 * Configuration of a synthetic data set. Equal configurations give the same bytes, whatever the number of threads.
 * Between processor architectures, last digits may differ because sine and exponential do.
 *
 * @param height         number of latitudes, including both poles
 * @param width          number of longitudes
 * @param trainYears     number of files of the training set
 * @param validYears     number of files of the validation set; their years follow those of training
 * @param testYears      number of files of the test set: the last years
 * @param samplesPerYear number of frames of a file, six hours apart. A file is one cycle of the seasons: 1460 frames
 * are
 *                       a year of 365 days, fewer frames a shorter year
 * @param seed           selects the continents and the weather
 * @param chunkSteps     frames of an HDF5 chunk, or {@link #CONTIGUOUS}
 */
public record SyntheticConfig(int height, int width, int trainYears, int validYears, int testYears,
                              int samplesPerYear, long seed, int chunkSteps) {
    /** Frames of a chunk where data are not in chunks. */
    public static final int CONTIGUOUS = 0;
    /**
     * Checks the sizes.
     *
     * @throws UserException if one is too small or too large
     */
    public SyntheticConfig {
        require(height >= 8, "height", height, "at least 8");
        require(width >= 16, "width", width, "at least 16");
        require((long) height * width <= 1 << 24, "height times width", (long) height * width, "at most 2^24");
        require(trainYears >= 1, "train_years", trainYears, "at least 1");
        require(validYears >= 1, "valid_years", validYears, "at least 1");
        require(testYears >= 0, "test_years", testYears, "at least 0");
        long years = (long) trainYears + validYears + testYears;
        require(years <= 1000, "the number of years", years, "at most 1000");
        require(samplesPerYear >= 4, "samples_per_year", samplesPerYear, "at least 4");
        require(samplesPerYear <= 1 << 20, "samples_per_year", samplesPerYear, "at most 2^20"); // bytes are a long
        require(chunkSteps >= 0, "chunk_steps", chunkSteps, "at least 1");
        require(chunkSteps == CONTIGUOUS || samplesPerYear % chunkSteps == 0 && samplesPerYear / chunkSteps
            <= Hdf5Header.MOST_CHUNKS && (long) chunkSteps * height * width <= 1 << 24, "chunk_steps", chunkSteps,
            "a divisor of samples_per_year that makes at most " + Hdf5Header.MOST_CHUNKS
                + " chunks of at most 2^24 points");
    }

    /** A data set without chunks. */
    public SyntheticConfig(int height, int width, int trainYears, int validYears, int testYears, int samplesPerYear,
        long seed) {
        this(height, width, trainYears, validYears, testYears, samplesPerYear, seed, CONTIGUOUS);
    }

    private static void require(boolean holds, String what, long value, String bound) {
        if (!holds) {
            throw new UserException("Synthetic data: " + what + " is " + value + " but must be " + bound + ".");
        }
    }
}
