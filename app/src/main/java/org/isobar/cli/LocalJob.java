package org.isobar.cli;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import org.isobar.fault.UserException;

/**
 * Processes on this machine that live and die together. Rank 0 writes where this process writes; the lines of the
 * others pass through it and are marked with their rank. If one fails, the others have some time to say what they saw,
 * then they are asked to end (SIGTERM), then made to (SIGKILL). So it is when this process itself is asked to end.
 */
final class LocalJob implements AutoCloseable {
    /** Time to report, and again time to end in. A rank notices at once that another has died. */
    static final Duration GRACE = Duration.ofSeconds(5);
    private static final int SIGNALLED = 128;

    private final PrintWriter out;
    private final PrintWriter err;
    private final Duration grace;
    private final List<Process> processes = new CopyOnWriteArrayList<>(); // the hook walks it at any time
    private final List<Thread> relays = new CopyOnWriteArrayList<>();
    private final BlockingQueue<End> ends = new LinkedBlockingQueue<>();
    private final Thread hook = new Thread(this::interrupted, "end of the job");
    private volatile boolean interrupted;

    /** A job without processes, whose ranks but the first write to {@code out} and {@code err}. */
    LocalJob(PrintWriter out, PrintWriter err, Duration grace) {
        this.out = out;
        this.err = err;
        this.grace = grace;
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /**
     * Starts {@code count} processes of the same command line.
     *
     * @param environment theirs, but for RANK, LOCAL_RANK and LOCAL_WORLD_SIZE
     * @throws UserException if there cannot be as many
     */
    void start(List<String> command, Map<String, String> environment, int count) {
        Map<String, String> each = new HashMap<>(environment);
        each.put("LOCAL_WORLD_SIZE", String.valueOf(count));
        for (int rank = 0; rank < count && !interrupted; rank++) {
            try {
                start(rank, command, each);
            } catch (IOException failed) {
                throw new UserException("cannot start process " + (rank + 1) + " of " + count + ": "
                    + failed.getMessage(), failed);
            }
        }
    }

    private void start(int rank, List<String> command, Map<String, String> environment) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectInput(new File("/dev/null"));
        if (rank == 0) {
            builder.redirectOutput(Redirect.INHERIT).redirectError(Redirect.INHERIT);
        }
        builder.environment().clear();
        builder.environment().putAll(environment);
        builder.environment().putAll(Map.of("RANK", String.valueOf(rank), "LOCAL_RANK", String.valueOf(rank),
            LauncherWatch.VARIABLE, String.valueOf(ProcessHandle.current().pid())));
        Process process = builder.start();
        processes.add(process);
        process.onExit().thenAccept(ended -> ends.add(new End(rank, ended.exitValue())));
        if (rank > 0) {
            relay(rank, process.inputReader(), out);
            relay(rank, process.errorReader(), err);
        }
    }

    private void relay(int rank, BufferedReader from, PrintWriter to) {
        relays.add(Thread.ofPlatform().daemon().name("output of rank " + rank).start(() -> {
            try (from) {
                for (String line = from.readLine(); line != null; line = from.readLine()) {
                    to.println("[rank " + rank + "] " + line);
                    to.flush();
                }
            } catch (IOException | UncheckedIOException ended) {
                // The process is gone, and so is what it had not written.
            }
        }));
    }

    /** Waits for all processes to end well, or one to fail; returns 0, or the exit code of the first that failed. */
    int await() throws InterruptedException {
        for (int running = processes.size(); running > 0; running--) {
            End end = ends.take();
            if (end.code() != 0) {
                if (!interrupted) {
                    err.println("isobar launch: " + end + (running > 1 ? "; ending the others" : ""));
                    err.flush();
                }
                ended(grace);
                return end.code();
            }
        }
        return 0;
    }

    /** Ends what still runs. */
    @Override
    public void close() {
        end();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException endingAlready) {
            // The hook does what has just been done.
        }
    }

    private void interrupted() {
        interrupted = true;
        end();
    }

    /** Ends all processes, and waits for their last lines: a handle's destroy, unlike a process's, leaves them be. */
    private void end() {
        try {
            processes.forEach(process -> process.toHandle().destroy());
            if (!ended(grace)) {
                processes.forEach(process -> process.toHandle().destroyForcibly());
            }
            long deadline = System.nanoTime() + grace.toNanos();
            for (Thread relay : relays) {
                relay.join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime())));
            }
        } catch (InterruptedException stop) {
            processes.forEach(Process::destroyForcibly);
            Thread.currentThread().interrupt();
        }
    }

    /** Whether all have ended within {@code limit}. */
    private boolean ended(Duration limit) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        boolean all = true;
        for (Process process : processes) {
            all &= process.waitFor(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
        }
        return all;
    }

    /** How a rank ended. */
    private record End(int rank, int code) {
        @Override
        public String toString() {
            return code > SIGNALLED ? "rank %d was ended by signal %d (exit code %d)".formatted(rank,
                code - SIGNALLED, code) : "rank %d ended with exit code %d".formatted(rank, code);
        }
    }
}
