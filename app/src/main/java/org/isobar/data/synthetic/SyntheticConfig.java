package org.isobar.data.synthetic;

import org.isobar.fault.UserException;

/**
 * What a synthetic data set is made of. Two equal configurations give the same bytes, whatever the number of threads
 * (between processor architectures, last digits may differ with their sine and exponential).
 *
 * @param height         latitudes, both poles included
 * @param width          longitudes
 * @param trainYears     files of the training set
 * @param validYears     files of the validation set; their years follow those of training
 * @param testYears      files of the test set; the last years
 * @param samplesPerYear frames of a file, six hours apart. The seasons pass once in a file: 1460 frames are a year of
 *                       365 days, fewer are a planet with a shorter year
 * @param seed           selects the continents and the weather
 */
public record SyntheticConfig(int height, int width, int trainYears, int validYears, int testYears,
                              int samplesPerYear, long seed) {
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
        require(trainYears + validYears + testYears <= 1000, "the number of years",
            trainYears + validYears + testYears, "at most 1000");
        require(samplesPerYear >= 4, "samples_per_year", samplesPerYear, "at least 4");
    }

    private static void require(boolean holds, String what, long value, String bound) {
        if (!holds) {
            throw new UserException("Synthetic data: " + what + " is " + value + " but must be " + bound + ".");
        }
    }
}
