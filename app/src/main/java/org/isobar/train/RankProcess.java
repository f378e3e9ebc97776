package org.isobar.train;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Optional;

import org.isobar.device.DeviceException;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.job.FailureDetector;
import org.isobar.distributed.job.FailureSummary;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.fault.UserException;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.Screen;

/** Runs the work of one rank with its log, and converts what it throws into an error line and an exit code. */
public final class RankProcess {
    private static final int FAILED = 1;
    private static final int INVALID_INPUT = 2;

    private RankProcess() { }

    /** The work of a rank. */
    public interface Work {
        /** Works and returns the exit code. */
        int run(RunLog log);
    }

    /** A failure of this process, its cause, that rank 0 has logged. */
    static final class LoggedFailure extends RuntimeException {
        private static final long serialVersionUID = 1L;

        LoggedFailure(RuntimeException failure) {
            super(failure);
        }
    }

    /**
     * What a rank logs if the job has failed at another rank; the message names this rank. In a large job, rank 0 logs
     * it for all ({@link FailureSummary}), or if that is lost, the ranks that are connected to it.
     */
    private static Optional<String> loss(RankEnvironment ranks, CommunicationException lost) {
        String message = lost.getMessage();
        return !FailureSummary.isFor(ranks.worldSize()) || ranks.rank() == 0
            || ranks.rank() < FailureSummary.ROOT_AND_CHILDREN && FailureDetector.isLossOfRankZero(message)
            ? Optional.of(message) : Optional.empty();
    }

    /** What a rank logs of its own failure, with the stack trace if the failure is unexpected. */
    static String text(RuntimeException failure) {
        return switch (failure) {
            case UserException invalid -> invalid.getMessage();
            case DeviceException failed -> "the device failed: " + failed.getMessage();
            default -> {
                StringWriter trace = new StringWriter();
                failure.printStackTrace(new PrintWriter(trace, true));
                yield "unexpected failure\n" + trace.toString().stripTrailing();
            }
        };
    }

    /** Runs {@code work} and returns its exit code, 2 for invalid input, or 1 for any other failure. */
    public static int run(RankEnvironment ranks, Screen screen, Work work) {
        String prefix = ranks.worldSize() > 1 ? "rank " + ranks.rank() + ": " : "";
        try (RunLog log = new RunLog(screen, ranks.rank() == 0 ? RunLog.Verbosity.ALL : RunLog.Verbosity.ERRORS)) {
            try {
                return work.run(log);
            } catch (LoggedFailure logged) {
                return code(logged.getCause());
            } catch (CommunicationException lost) {
                loss(ranks, lost).ifPresent(log::error);
                return FAILED;
            } catch (RuntimeException failure) {
                log.error(prefix + text(failure));
                return code(failure);
            } catch (Error failure) {
                log.error(prefix + "unexpected failure", failure);
                return FAILED;
            }
        }
    }

    private static int code(Throwable failure) {
        return failure instanceof UserException ? INVALID_INPUT : FAILED;
    }
}
