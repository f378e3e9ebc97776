package org.isobar.cli.job;

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

import org.isobar.cli.signal.ProcessSignal;
import org.isobar.cli.signal.RepeatedSignal;
import org.isobar.fault.UserException;
import org.isobar.train.RunContext;

/**
 * Processes on this machine that live and die together. Rank 0 writes where this process writes; the lines of the
 * others pass through it and are marked with their rank. If one fails, the others have some time to say what they saw,
 * then they are asked to end (SIGTERM), then made to (SIGKILL). When this process itself is asked to end, it asks them
 * to, and waits: they may have a checkpoint to save. Asked again, it kills them.
 */
final class LocalJob implements AutoCloseable {
    private static final int KILLED = ProcessSignal.BASE + 9;

    private final PrintWriter out;
    private final PrintWriter err;
    private final Limits limits;
    private final List<Process> processes = new CopyOnWriteArrayList<>(); // signals walk it at any time
    private final List<Thread> relays = new CopyOnWriteArrayList<>();
    private final BlockingQueue<End> ends = new LinkedBlockingQueue<>();
    private final Thread hook = new Thread(this::end, "end of the job");
    private final RepeatedSignal requests = new RepeatedSignal();
    private volatile ProcessSignal request; // by which this process was asked to end, or null
    private volatile boolean killed; // ranks, upon the request
    private boolean complete; // all ranks have been started

    /**
     * How long a job waits for its ranks.
     *
     * @param report when one has ended before the others: for these to say what they saw; and again, for them to end
     * @param save   when all were asked to end
     */
    record Limits(Duration report, Duration save) {
        /** A rank notices at once that another has died; saving is bounded by the ranks themselves. */
        static final Limits DEFAULT = new Limits(Duration.ofSeconds(5), Duration.ofMinutes(10));
    }

    /** A job without processes, whose ranks but the first write to {@code out} and {@code err}. */
    LocalJob(PrintWriter out, PrintWriter err, Limits limits) {
        this.out = out;
        this.err = err;
        this.limits = limits;
        Runtime.getRuntime().addShutdownHook(hook);
        for (ProcessSignal signal : ProcessSignal.values()) {
            signal.handle(() -> askedToEnd(signal));
        }
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
        for (int rank = 0; rank < count && request == null; rank++) {
            try {
                start(rank, command, each);
            } catch (IOException failed) {
                throw new UserException("cannot start process " + (rank + 1) + " of " + count + ": "
                    + failed.getMessage(), failed);
            }
        }
        complete = processes.size() == count;
    }

    private void start(int rank, List<String> command, Map<String, String> environment) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectInput(new File("/dev/null"));
        if (rank == 0) {
            builder.redirectOutput(Redirect.INHERIT).redirectError(Redirect.INHERIT);
        }
        builder.environment().clear();
        builder.environment().putAll(environment);
        builder.environment().putAll(Map.of("RANK", String.valueOf(rank), "LOCAL_RANK", String.valueOf(rank),
            ParentWatch.VARIABLE, String.valueOf(ProcessHandle.current().pid())));
        Process process = builder.start();
        processes.add(process);
        if (request != null) {
            process.toHandle().destroy(); // the request may have come before there was this process
        }
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

    /**
     * Waits for all processes to end well, or one not to; returns 0, or the exit code of the first that did not. If
     * that comes of a request to end, and not of what the rank made of it, the code is that of the signal.
     */
    int await() throws InterruptedException {
        int code = 0;
        for (int running = processes.size(); running > 0 && code == 0; running--) {
            End end = ends.take();
            code = end.code();
            if (code != 0) {
                if (code != RunContext.INTERRUPTED && !isOfRequest(code)) {
                    err.println("isobar launch: " + end + (running > 1 ? "; ending the others" : ""));
                    err.flush();
                }
                ended(limits.report());
            }
        }
        return isOfRequest(code) ? request.exitCode() : code;
    }

    /** Whether a rank ended so because the request left it no choice. With any other code, the rank had its own say. */
    private boolean isOfRequest(int code) {
        return request != null && (!complete || killed && code == KILLED || code == ProcessSignal.TERM.exitCode()
            || code == request.exitCode());
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

    /** Runs in a thread of its own for each signal. */
    private void askedToEnd(ProcessSignal signal) {
        try {
            RepeatedSignal.Place place = place(signal);
            if (place == RepeatedSignal.Place.FIRST) {
                processes.forEach(process -> process.toHandle().destroy());
            }
            if (place == RepeatedSignal.Place.AGAIN || place == RepeatedSignal.Place.FIRST && !ended(limits.save())) {
                killed = true;
                processes.forEach(process -> process.toHandle().destroyForcibly());
            }
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized RepeatedSignal.Place place(ProcessSignal signal) {
        if (request == null) {
            request = signal;
        } else if (signal == ProcessSignal.USR1) {
            return RepeatedSignal.Place.ECHO; // Slurm never means to kill by it
        }
        return requests.next();
    }

    /** Ends all processes, and waits for their last lines: a handle's destroy, unlike a process's, leaves them be. */
    private void end() {
        try {
            processes.forEach(process -> process.toHandle().destroy());
            if (!ended(limits.report())) {
                processes.forEach(process -> process.toHandle().destroyForcibly());
            }
            long deadline = System.nanoTime() + limits.report().toNanos();
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
            return code > ProcessSignal.BASE ? "rank %d was ended by signal %d (exit code %d)".formatted(rank,
                code - ProcessSignal.BASE, code) : "rank %d ended with exit code %d".formatted(rank, code);
        }
    }
}
