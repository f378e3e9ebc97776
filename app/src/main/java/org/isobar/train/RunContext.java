package org.isobar.train;

import java.util.Map;

import org.isobar.distributed.job.JobSecret;
import org.isobar.telemetry.Screen;
import org.isobar.train.saving.StopRequest;

/**
 * Inputs of a run's process in addition to its configuration.
 *
 * @param secret      authenticates this process to the other processes of the job
 * @param environment environment variables for opening the device
 * @param screen      shows log lines and the progress bar
 * @param stopRequest whether the run was requested to stop
 */
public record RunContext(JobSecret secret, Map<String, String> environment, Screen screen, StopRequest stopRequest) {
    /** Exit code of a run that was requested to stop and has saved a checkpoint: EX_TEMPFAIL of sysexits.h. */
    public static final int INTERRUPTED = 75;
}
