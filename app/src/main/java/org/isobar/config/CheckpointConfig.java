package org.isobar.config;

import static org.isobar.config.keys.Keys.RUN;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;

import org.isobar.config.keys.Resume;
import org.isobar.config.keys.Settings;

/**
 * Where the run starts, and when it saves checkpoints besides at the end of each epoch and when it is asked to stop.
 *
 * @param resume the checkpoint to start from, if any
 * @param force resume even if the configuration or the data changed in a way that changes the result
 * @param every save after each so many steps
 * @param interval save when so much time has passed since the last
 * @param keep number of newest checkpoints to keep, besides the best; 0 saves none
 */
public record CheckpointConfig(Resume resume, boolean force, OptionalInt every, Optional<Duration> interval,
    int keep) {

    static CheckpointConfig of(Settings settings) {
        return new CheckpointConfig(settings.get(RUN.resume), settings.get(RUN.force),
            settings.get(RUN.checkpointEvery).map(OptionalInt::of).orElseGet(OptionalInt::empty),
            settings.get(RUN.checkpointMinutes).map(minutes -> Duration.ofMillis(Math.round(minutes * 60_000))),
            settings.get(RUN.keep));
    }

    /** Whether a checkpoint is saved after {@code iteration} because of its number. */
    public boolean isDueAfter(long iteration) {
        return every.isPresent() && iteration % every.getAsInt() == 0;
    }
}
