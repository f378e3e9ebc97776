package org.isobar.distributed.job;

import java.time.Duration;

/**
 * Time limits of a job.
 *
 * @param start   until all ranks have connected at the rendezvous
 * @param failure from the death or stop of a rank, or from the moment when all ranks wait for each other, until the
 *                waits of all survivors have ended with an error
 * @param stall   of waiting for peers that are alive but do not issue the operation; must be longer than any
 *                computation, file access or data loading between two collectives
 */
public record TimeLimits(Duration start, Duration failure, Duration stall) {
    /** Start 2 minutes, failure 10 seconds, stall 30 minutes. */
    public static final TimeLimits DEFAULT =
        new TimeLimits(Duration.ofMinutes(2), Duration.ofSeconds(10), Duration.ofMinutes(30));

    /** Checks that each limit is positive. */
    public TimeLimits {
        for (Duration limit : new Duration[] {start, failure, stall}) {
            if (!limit.isPositive()) {
                throw new IllegalArgumentException("time limit " + limit + " is not positive");
            }
        }
    }

    /** Interval of heartbeats: a twentieth of the failure limit. */
    Duration heartbeatInterval() {
        return failure.dividedBy(20);
    }

    /** How long a rank may send no heartbeat, or all ranks may wait for each other: 0.7 of the failure limit. */
    Duration silenceLimit() {
        return failure.multipliedBy(7).dividedBy(10);
    }

    /** How long a rank may take until its first heartbeat: the start limit, but at least the {@link #silenceLimit}. */
    Duration firstHeartbeat() {
        return start.compareTo(silenceLimit()) > 0 ? start : silenceLimit();
    }

    /** How long the report of a failure may take to reach all ranks: the rest of the failure limit. */
    Duration propagation() {
        return failure.minus(silenceLimit());
    }
}
