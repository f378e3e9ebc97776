package org.isobar.train;

import java.util.Map;
import java.util.function.UnaryOperator;

import org.isobar.distributed.Communicator;
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
 * @param tap         wraps each communicator of the job, to observe what the process issues
 */
public record RunContext(JobSecret secret, Map<String, String> environment, Screen screen, StopRequest stopRequest,
    UnaryOperator<Communicator> tap) {
    /** Exit code of a run that was requested to stop and has saved a checkpoint: EX_TEMPFAIL of sysexits.h. */
    public static final int INTERRUPTED = 75;

    /** Inputs of a process whose collectives are not observed. */
    public RunContext(JobSecret secret, Map<String, String> environment, Screen screen, StopRequest stopRequest) {
        this(secret, environment, screen, stopRequest, UnaryOperator.identity());
    }
}
