package org.isobar.config;

import static org.isobar.config.keys.Keys.LAUNCH;

import java.time.Duration;

import org.isobar.backend.CommBackend;
import org.isobar.config.keys.Settings;
import org.isobar.distributed.job.TimeLimits;

/**
 * How processes communicate. {@link RunConfig#grid} says how they share the work.
 *
 * @param noddp leave the gradients of data-parallel replicas unreduced
 * @param bucketCapMb largest gradient message, in MB
 * @param limits how long processes wait for each other
 * @param carrier what carries collectives between processes
 * @param proof how long to check at the start that all processes will issue matching collectives; zero not to
 */
public record ParallelConfig(boolean noddp, int bucketCapMb, TimeLimits limits, CommBackend carrier,
    Duration proof) {

    static ParallelConfig of(Settings settings) {
        return new ParallelConfig(settings.get(LAUNCH.noddp), settings.get(LAUNCH.bucketCapMb),
            new TimeLimits(seconds(settings.get(LAUNCH.startTimeout)), seconds(settings.get(LAUNCH.commTimeout)),
                TimeLimits.DEFAULT.stall()), settings.get(LAUNCH.commBackend),
            seconds(settings.get(LAUNCH.proveCollectives)));
    }

    private static Duration seconds(double seconds) {
        return Duration.ofMillis(Math.round(seconds * 1000));
    }
}
