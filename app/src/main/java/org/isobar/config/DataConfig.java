package org.isobar.config;

import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Where the data are and how to read them.
 *
 * @param trainPath directory of the training years, {@code YYYY.h5}
 * @param testPath directory of the test years, which training does not read
 * @param globalMeansPath npy file of each variable's mean, [1, channels, 1, 1]
 * @param timeMeansPath npy file of the climatology, which training does not read
 * @param dt forecast lead, in time steps of the data
 * @param numDataWorkers threads that prefetch; 0 reads in the training thread
 * @param limitSamples cap on the training samples
 * @param limitSamplesValid cap on the validation samples
 * @param synthetic what to make on first use if the data are missing
 */
public record DataConfig(
    Path trainPath,
    Path validPath,
    Path testPath,
    Path globalMeansPath,
    Path globalStdsPath,
    Path timeMeansPath,
    int dt,
    int numDataWorkers,
    DataLoaderConfig dataLoaderConfig,
    OptionalLong limitSamples,
    OptionalLong limitSamplesValid,
    Optional<SyntheticData> synthetic) { }
