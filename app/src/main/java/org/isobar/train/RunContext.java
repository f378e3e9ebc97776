package org.isobar.train;

import java.util.Map;

import org.isobar.distributed.job.JobSecret;
import org.isobar.telemetry.Screen;
import org.isobar.train.saving.StopRequest;

/**
 * What a process of a run is given besides its configuration.
 *
 * @param secret      proves to the job's other processes that this is one of them
 * @param environment in which the device is opened
 * @param screen      where log lines and the progress bar are shown
 * @param stopRequest tells whether the run was asked to stop
 */
public record RunContext(JobSecret secret, Map<String, String> environment, Screen screen, StopRequest stopRequest) {
    /** Exit code of a run that was asked to stop and has saved a checkpoint: EX_TEMPFAIL of sysexits.h. */
    public static final int INTERRUPTED = 75;
}
