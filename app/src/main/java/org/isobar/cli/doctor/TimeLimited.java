package org.isobar.cli.doctor;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.isobar.fault.UserException;

/** What may hang, done within a time limit. */
final class TimeLimited {
    private TimeLimited() { }

    /**
     * The result of some work that may call a driver, on a thread that does not keep the program from ending.
     *
     * @param what names the work
     * @throws UserException that of the work, or if it was not done in time
     */
    static <T> T call(String what, Duration limit, Callable<T> work) {
        FutureTask<T> task = new FutureTask<>(work);
        Thread.ofPlatform().daemon().name(what).start(task);
        try {
            return task.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException late) {
            throw new UserException(what + " did not end within " + limit.toSeconds() + " s", late);
        } catch (ExecutionException failure) {
            if (failure.getCause() instanceof UserException mistake) {
                throw mistake;
            }
            throw new UserException(what + " failed: " + failure.getCause(), failure);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new UserException(what + " was interrupted", interrupted);
        }
    }

    /** The first line that a command prints, and whether it failed; or that there is none. */
    static String firstLine(Duration limit, String... command) {
        Process process;
        try {
            process = new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException absent) {
            return "not here";
        }
        try {
            process.getOutputStream().close();
            String line = call(command[0], limit, process.inputReader()::readLine);
            if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
                return "here, but does not end";
            }
            String said = line == null ? "" : line;
            return process.exitValue() == 0 ? said : "here, but fails: " + said;
        } catch (IOException | UserException mute) {
            return "here, but does not answer: " + mute.getMessage();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return "not known";
        } finally {
            process.destroyForcibly();
        }
    }
}
