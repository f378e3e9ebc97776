package org.isobar.cli.doctor;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.isobar.fault.UserException;

/** Runs work that may hang, such as calls of a driver, within a time limit. */
final class TimeLimited {
    private static final Duration DRIVER_LIMIT = Duration.ofSeconds(30);

    private TimeLimited() { }

    /**
     * Runs {@code work} in a daemon thread, which does not keep the program from exiting, and returns its result.
     *
     * @param what the work's name, for the message
     * @throws UserException if the work fails or does not end within {@code limit}
     */
    static <T> T call(String what, Duration limit, Callable<T> work) {
        FutureTask<T> task = new FutureTask<>(work);
        Thread.ofPlatform().daemon().name(what).start(task);
        try {
            return task.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException timeout) {
            throw new UserException(what + " did not end within " + limit.toSeconds() + " s", timeout);
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

    /**
     * Runs a query of NVIDIA's libraries.
     *
     * @throws UserException if they do not answer in time
     */
    static <T> T ofDriver(Callable<T> query) {
        return call("querying NVIDIA's libraries", DRIVER_LIMIT, query);
    }

    /** The first line that a command prints, or a text that says why there is none. */
    static String firstLine(Duration limit, String... command) {
        Process process;
        try {
            process = new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException absent) {
            return "not found";
        }
        try {
            process.getOutputStream().close();
            String line = call(command[0], limit, process.inputReader()::readLine);
            if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
                return "found, but does not end";
            }
            String output = line == null ? "" : line;
            return process.exitValue() == 0 ? output : "found, but fails: " + output;
        } catch (IOException | UserException failed) {
            return "found, but does not answer: " + failed.getMessage();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return "unknown";
        } finally {
            process.destroyForcibly();
        }
    }
}
