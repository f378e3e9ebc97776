package org.isobar.config;

import static org.isobar.config.keys.Keys.DATA;
import static org.isobar.config.keys.Keys.TRAINING;

import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;

import org.isobar.config.keys.DataLoaderConfig;
import org.isobar.config.keys.Settings;
import org.isobar.data.channels.ChannelChoice;

/**
 * Where the data are and how to read them.
 *
 * @param trainPath directory of the training years, {@code YYYY.h5}
 * @param testPath directory of the test years, which training does not read
 * @param globalMeansPath npy file of each variable's mean, [1, channels, 1, 1]
 * @param timeMeansPath npy file of the climatology, which training does not read
 * @param dt forecast lead, in time steps of the data
 * @param hoursPerFrame hours from one time step of the data to the next
 * @param numDataWorkers threads that prefetch; 0 reads in the training thread
 * @param limitSamples cap on the training samples
 * @param limitSamplesValid cap on the validation samples
 * @param channels the model's channels by name
 * @param synthetic the data set to make on first use if the data are missing
 */
public record DataConfig(
    Path trainPath,
    Path validPath,
    Path testPath,
    Path globalMeansPath,
    Path globalStdsPath,
    Path timeMeansPath,
    int dt,
    int hoursPerFrame,
    int numDataWorkers,
    DataLoaderConfig dataLoaderConfig,
    OptionalLong limitSamples,
    OptionalLong limitSamplesValid,
    ChannelChoice channels,
    Optional<SyntheticData> synthetic) {

    /** Hours from one time step to the next, if neither the preset nor the data say. */
    public static final int HOURS_PER_FRAME = 6;

    static DataConfig of(Settings settings) {
        return new DataConfig(settings.get(DATA.trainDataPath), settings.get(DATA.validDataPath),
            settings.get(DATA.infDataPath), settings.get(DATA.globalMeansPath), settings.get(DATA.globalStdsPath),
            settings.get(DATA.timeMeansPath), settings.get(TRAINING.dt),
            settings.get(DATA.hoursPerFrame).orElse(HOURS_PER_FRAME), settings.get(DATA.numDataWorkers),
            settings.get(DATA.dataLoaderConfig), optional(settings.get(DATA.limitNsamples)),
            optional(settings.get(DATA.limitNsamplesVal)), ChannelKeys.of(settings), SyntheticData.of(settings));
    }

    private static OptionalLong optional(Optional<Long> limit) {
        return limit.map(OptionalLong::of).orElseGet(OptionalLong::empty);
    }
}
