package org.isobar.distributed.job;

import java.time.Duration;

/**
 * How long ranks wait for each other.
 *
 * @param start   for all ranks to arrive at the rendezvous
 * @param failure after a peer has died or is stopped, or all ranks wait for each other, until each survivor has ended
 *                its waiting with an error
 * @param stall   for an operation whose peers live, but do not come to it: longer than any computation, file or data
 *                loading between two collectives
 */
public record TimeLimits(Duration start, Duration failure, Duration stall) {
    /** Two minutes to start, ten seconds after a failure, half an hour for a slow peer. */
    public static final TimeLimits DEFAULT =
        new TimeLimits(Duration.ofMinutes(2), Duration.ofSeconds(10), Duration.ofMinutes(30));

    /** Checks that each limit is positive. */
    public TimeLimits {
        for (Duration limit : new Duration[] {start, failure, stall}) {
            if (!limit.isPositive()) {
                throw new IllegalArgumentException("time limit " + limit);
            }
        }
    }

    /** Distance of the signs of life that ranks give each other. */
    Duration beat() {
        return failure.dividedBy(20);
    }

    /** How long a rank may be silent, or all may wait for each other. */
    Duration silence() {
        return failure.multipliedBy(7).dividedBy(10);
    }

    /** The rest of the limit: how long a verdict may be on its way to all. */
    Duration telling() {
        return failure.minus(silence());
    }
}
