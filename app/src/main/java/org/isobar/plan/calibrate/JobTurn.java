package org.isobar.plan.calibrate;

import java.util.Optional;

import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;

/**
 * A measurement of some processes of a job, for which the others wait.
 *
 * @param job     all processes
 * @param members the measurement, if this process takes part
 */
record JobTurn(Communicators job, Optional<? extends RepeatedMeasurement> members) implements RepeatedMeasurement {
    @Override
    public void warmUp() {
        awaitAll(job);
        members.ifPresent(RepeatedMeasurement::warmUp);
    }

    @Override
    public void round() {
        awaitAll(job);
        members.ifPresent(RepeatedMeasurement::round);
    }

    /** Waits until all processes of a job have called this. */
    static void awaitAll(Communicators job) {
        job.along(Axis.values()).barrier().await();
    }
}
