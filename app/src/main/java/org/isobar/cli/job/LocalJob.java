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
 * The processes of one job on this machine. Rank 0 inherits this process's output. The output of the other ranks is
 * copied line by line, with the rank in front. If a rank fails, the others get some time to report, then SIGTERM, then
 * SIGKILL. A signal to stop this process is reported and forwarded as SIGTERM; then the job waits, because ranks may be
 * saving a checkpoint. Later signals are ignored, except a second Ctrl-C, which kills the ranks.
 */
final class LocalJob implements AutoCloseable {
    private static final int KILLED = ProcessSignal.BASE + 9;

    private final PrintWriter out;
    private final PrintWriter err;
    private final Limits limits;
    private final List<Process> processes = new CopyOnWriteArrayList<>(); // read by signal handlers at any time
    private final List<Thread> relays = new CopyOnWriteArrayList<>();
    private final BlockingQueue<RankExit> exits = new LinkedBlockingQueue<>();
    private final Thread hook = new Thread(this::stopAll, "end of the job");
    private final RepeatedSignal ctrlC = new RepeatedSignal();
    private volatile ProcessSignal request; // the signal that asked this process to stop, or null
    private volatile boolean killed; // ranks were killed after the request
    private boolean complete; // all ranks were started

    /**
     * How long a job waits for its ranks.
     *
     * @param report after a rank has failed: for the others to report, and then again for them to exit
     * @param save   after all ranks were asked to stop
     */
    record Limits(Duration report, Duration save) {
        /** Short for reports, because a rank notices at once that another has died; ranks limit saving themselves. */
        static final Limits DEFAULT = new Limits(Duration.ofSeconds(5), Duration.ofMinutes(10));
    }

    /** A job without processes yet. Ranks other than 0 write to {@code out} and {@code err}. */
    LocalJob(PrintWriter out, PrintWriter err, Limits limits) {
        this.out = out;
        this.err = err;
        this.limits = limits;
        Runtime.getRuntime().addShutdownHook(hook);
        for (ProcessSignal signal : ProcessSignal.values()) {
            signal.handle(() -> onSignal(signal));
        }
    }

    /**
     * Starts {@code count} processes of one command.
     *
     * @param environment the environment of all, without RANK, LOCAL_RANK and LOCAL_WORLD_SIZE
     * @throws UserException if a process cannot be started
     */
    void start(List<String> command, Map<String, String> environment, int count) {
        for (int rank = 0; rank < count && request == null; rank++) {
            try {
                start(rank, command, ofRank(rank, count, environment));
            } catch (IOException failed) {
                throw new UserException("cannot start process " + (rank + 1) + " of " + count + ": "
                    + failed.getMessage(), failed);
            }
        }
        complete = processes.size() == count;
    }

    /** The environment of one of {@code count} ranks. */
    static Map<String, String> ofRank(int rank, int count, Map<String, String> environment) {
        Map<String, String> own = new HashMap<>(environment);
        own.putAll(Map.of("RANK", String.valueOf(rank), "LOCAL_RANK", String.valueOf(rank),
            "LOCAL_WORLD_SIZE", String.valueOf(count),
            ParentWatch.VARIABLE, String.valueOf(ProcessHandle.current().pid())));
        return own;
    }

    private void start(int rank, List<String> command, Map<String, String> environment) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectInput(new File("/dev/null"));
        if (rank == 0) {
            builder.redirectOutput(Redirect.INHERIT).redirectError(Redirect.INHERIT);
        }
        builder.environment().clear();
        builder.environment().putAll(environment);
        Process process = builder.start();
        processes.add(process);
        if (request != null) {
            process.toHandle().destroy(); // the request may have arrived before this process existed
        }
        process.onExit().thenAccept(exited -> exits.add(new RankExit(rank, exited.exitValue())));
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
            } catch (IOException | UncheckedIOException closed) {
                // The process has exited; there is no more output.
            }
        }));
    }

    /**
     * Waits until all processes have exited with 0 or one has failed. Returns 0, or the exit code of the first that
     * failed. If a stop request terminated that process, the code is that of the request's signal.
     */
    int await() throws InterruptedException {
        int code = 0;
        for (int running = processes.size(); running > 0 && code == 0; running--) {
            RankExit exit = exits.take();
            code = exit.code();
            if (code != 0) {
                if (code != RunContext.INTERRUPTED && !isCausedByRequest(code)) {
                    err.println("isobar launch: " + exit + (running > 1 ? "; stopping the others" : ""));
                    err.flush();
                }
                awaitExit(limits.report());
            }
        }
        return isCausedByRequest(code) ? request.exitCode() : code;
    }

    /** Whether a rank exited with {@code code} because the stop request terminated it. */
    private boolean isCausedByRequest(int code) {
        return request != null && (!complete || killed && code == KILLED || code == ProcessSignal.TERM.exitCode()
            || code == request.exitCode());
    }

    /** Stops the processes that still run. */
    @Override
    public void close() {
        stopAll();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException shuttingDown) {
            // The JVM is exiting and runs the hook, which finds nothing left to stop.
        }
    }

    /** Forwards a signal to the ranks. Each signal runs this in its own thread. */
    private void onSignal(ProcessSignal signal) {
        try {
            RepeatedSignal.Place place = place(signal);
            if (place == RepeatedSignal.Place.FIRST) {
                processes.forEach(process -> process.toHandle().destroy());
                err.println("isobar launch: " + signal + ": stopping the processes"
                    + (signal == ProcessSignal.INT ? "; press Ctrl-C again to kill them" : ""));
                err.flush();
            }
            if (place == RepeatedSignal.Place.REPEATED || place == RepeatedSignal.Place.FIRST
                && !awaitExit(limits.save())) {
                killed = true;
                processes.forEach(process -> process.toHandle().destroyForcibly());
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized RepeatedSignal.Place place(ProcessSignal signal) {
        boolean kill = signal == ProcessSignal.INT && ctrlC.next() == RepeatedSignal.Place.REPEATED;
        if (request == null) {
            request = signal;
            return RepeatedSignal.Place.FIRST;
        }
        return kill ? RepeatedSignal.Place.REPEATED : RepeatedSignal.Place.DUPLICATE;
    }

    /**
     * Stops all processes and waits for their last output. {@link ProcessHandle#destroy}, unlike
     * {@link Process#destroy}, leaves their output streams open.
     */
    private void stopAll() {
        try {
            processes.forEach(process -> process.toHandle().destroy());
            if (!awaitExit(limits.report())) {
                processes.forEach(process -> process.toHandle().destroyForcibly());
            }
            long deadline = System.nanoTime() + limits.report().toNanos();
            for (Thread relay : relays) {
                relay.join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime())));
            }
        } catch (InterruptedException interrupted) {
            processes.forEach(Process::destroyForcibly);
            Thread.currentThread().interrupt();
        }
    }

    /** Waits for all processes to exit; false if one still runs after {@code limit}. */
    private boolean awaitExit(Duration limit) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        boolean all = true;
        for (Process process : processes) {
            all &= process.waitFor(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
        }
        return all;
    }

    /** The exit of a rank. */
    private record RankExit(int rank, int code) {
        @Override
        public String toString() {
            return code > ProcessSignal.BASE ? "rank %d was terminated by signal %d (exit code %d)".formatted(rank,
                code - ProcessSignal.BASE, code) : "rank %d exited with code %d".formatted(rank, code);
        }
    }
}
