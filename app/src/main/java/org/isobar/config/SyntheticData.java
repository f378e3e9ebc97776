package org.isobar.config;

import static org.isobar.config.keys.Keys.SYNTHETIC;

import java.util.Optional;
import java.util.OptionalInt;

import org.isobar.config.keys.Settings;

/**
 * The synthetic data set that a run makes if the preset's data are missing. Each year is a file of
 * {@code samplesPerYear} time steps, six hours apart, in chunks of {@code chunkSteps} if that is given.
 */
public record SyntheticData(long seed, int trainYears, int validYears, int testYears, int samplesPerYear,
    OptionalInt chunkSteps) {

    /** Empty if no key of it is given. */
    static Optional<SyntheticData> of(Settings settings) {
        return settings.isAnyGiven(SYNTHETIC.keys())
            ? Optional.of(new SyntheticData(settings.get(SYNTHETIC.seed), settings.get(SYNTHETIC.trainYears),
                settings.get(SYNTHETIC.validYears), settings.get(SYNTHETIC.testYears),
                settings.get(SYNTHETIC.samplesPerYear),
                settings.get(SYNTHETIC.chunkSteps).map(OptionalInt::of).orElse(OptionalInt.empty())))
            : Optional.empty();
    }
}
