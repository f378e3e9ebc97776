package org.isobar.train;

import java.util.Optional;

import org.isobar.device.DeviceException;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.job.FailureDetector;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.fault.UserException;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.Screen;

/** Runs the work of one rank with its log, and converts what it throws into an error line and an exit code. */
public final class RankProcess {
    private static final int FAILED = 1;
    private static final int INVALID_INPUT = 2;
    private static final int MOST_LINES = 17; // of ranks that log the same failure

    private RankProcess() { }

    /** The work of a rank. */
    public interface Work {
        /** Works and returns the exit code. */
        int run(RunLog log);
    }

    /**
     * What a rank logs if the job has failed at another rank, which logs its own finding; the message names this rank.
     * In a large job, one rank logs it for all: rank 0, or if that is lost, the ranks that are connected to it.
     */
    private static Optional<String> summary(RankEnvironment ranks, CommunicationException lost) {
        String message = lost.getMessage();
        if (ranks.worldSize() <= MOST_LINES) {
            return Optional.of(message);
        }
        if (ranks.rank() == 0) {
            return Optional.of(message + " (the other " + (ranks.worldSize() - 1)
                + " ranks end, too, and log only what they have found themselves)");
        }
        return ranks.rank() < MOST_LINES && FailureDetector.isLossOfRankZero(message) ? Optional.of(message)
            : Optional.empty();
    }

    /** Runs {@code work} and returns its exit code, 2 for invalid input, or 1 for any other failure. */
    public static int run(RankEnvironment ranks, Screen screen, Work work) {
        String prefix = ranks.worldSize() > 1 ? "rank " + ranks.rank() + ": " : "";
        try (RunLog log = new RunLog(screen, ranks.rank() == 0 ? RunLog.Verbosity.ALL : RunLog.Verbosity.ERRORS)) {
            try {
                return work.run(log);
            } catch (UserException invalid) {
                log.error(prefix + invalid.getMessage());
                return INVALID_INPUT;
            } catch (CommunicationException lost) {
                summary(ranks, lost).ifPresent(log::error);
                return FAILED;
            } catch (DeviceException failed) {
                log.error(prefix + "the device failed: " + failed.getMessage());
                return FAILED;
            } catch (RuntimeException | Error failure) {
                log.error(prefix + "unexpected failure", failure);
                return FAILED;
            }
        }
    }
}
