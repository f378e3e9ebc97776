package org.isobar.train;

import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;

import org.isobar.config.RunConfig;
import org.isobar.device.Device;
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
 * @param expectation predicts the speed of the run
 */
public record RunContext(JobSecret secret, Map<String, String> environment, Screen screen, StopRequest stopRequest,
    UnaryOperator<Communicator> tap, Expectation expectation) {
    /** Exit code of a run that was requested to stop and has saved a checkpoint: EX_TEMPFAIL of sysexits.h. */
    public static final int INTERRUPTED = 75;

    /** Inputs of a process whose collectives are not observed. */
    public RunContext(JobSecret secret, Map<String, String> environment, Screen screen, StopRequest stopRequest) {
        this(secret, environment, screen, stopRequest, UnaryOperator.identity());
    }

    /** Inputs of a process whose speed is not predicted. */
    public RunContext(JobSecret secret, Map<String, String> environment, Screen screen, StopRequest stopRequest,
        UnaryOperator<Communicator> tap) {
        this(secret, environment, screen, stopRequest, tap, Expectation.NONE);
    }

    /** Predicts the speed of a run before it trains, and compares it with what came. */
    public interface Expectation {
        /** Knows nothing of any machine. */
        Expectation NONE = (_, _) -> Optional.empty();

        /** The prediction for a run on a device; empty if nothing is known of this machine. */
        Optional<Expected> of(RunConfig config, Device device);

        /** The prediction for one run. */
        interface Expected {
            /** The line that the log has before training. */
            String start();

            /** What the log has after training. */
            Outcome end(double samplesPerSecond);
        }

        /**
         * What came.
         *
         * @param line    a line of the log
         * @param warning whether it is far from what was expected
         */
        record Outcome(String line, boolean warning) { }
    }
}
