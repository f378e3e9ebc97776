package org.isobar.bench.suite;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.isobar.os.ProcessMemory;

/**
 * A child process with a time limit. Its output lines, memory and CPU time are observed. Memory is sampled twenty
 * times a second and includes descendants. These are listed only once a second, because that reads all of
 * {@code /proc}, so a descendant that lives for less than a second can be missed. The process is stopped when this JVM
 * exits.
 */
final class WatchedProcess implements AutoCloseable {
    private static final long SAMPLE_MILLIS = 50;
    private static final Duration LIST_INTERVAL = Duration.ofSeconds(1);
    private static final Duration GRACE = Duration.ofSeconds(5);
    private static final ProcessMemory NONE = new ProcessMemory(0, 0, 0);

    private final long start = System.nanoTime();
    private final Process process;
    private final Thread reader;
    private final Thread hook = new Thread(this::kill, "part termination");
    private volatile List<Long> members; // process ids, as last listed
    private ProcessMemory peak = NONE;

    /** Receives each output line with the seconds since the start of the process, and can query its usage so far. */
    interface Listener {
        /** Called in order, on a separate thread. */
        void line(String text, double seconds, Supplier<Usage> usage);
    }

    /**
     * What a process and its descendants use.
     *
     * @param memory     their current memory
     * @param cpuSeconds CPU time of those that run, since their start
     */
    record Usage(ProcessMemory memory, double cpuSeconds) { }

    /**
     * How a process ended.
     *
     * @param status   exit code; 128 + n after signal n
     * @param timedOut whether it was stopped at its time limit
     * @param seconds  run time
     * @param peak     largest sampled memory of the process and its descendants; field {@code peak} is the peak that
     *                 the kernel recorded
     */
    record End(int status, boolean timedOut, double seconds, ProcessMemory peak) { }

    /**
     * Starts a command.
     *
     * @param log file for its output
     * @throws IOException if the command does not exist or the log cannot be written
     */
    WatchedProcess(List<String> command, Path log, Listener listener) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        PrintWriter file = new PrintWriter(Files.newBufferedWriter(log, StandardCharsets.UTF_8,
            StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE,
            LinkOption.NOFOLLOW_LINKS));
        try {
            process = builder.start();
            process.getOutputStream().close();
            members = List.of(process.pid());
        } catch (IOException failed) {
            file.close();
            throw failed;
        }
        try {
            Runtime.getRuntime().addShutdownHook(hook);
        } catch (IllegalStateException endingAlready) { // no hook would stop the process
            process.destroyForcibly();
            file.close();
            throw endingAlready;
        }
        reader = Thread.ofPlatform().daemon().name("part output").start(() -> relay(file, listener));
    }

    private void relay(PrintWriter log, Listener listener) {
        try (log; BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                listener.line(line, seconds(), () -> new Usage(memory(), cpuSeconds()));
                log.println(line);
            }
        } catch (IOException | UncheckedIOException ended) {
            // The process has exited.
        }
    }

    /** Current memory of the process and its descendants. */
    ProcessMemory memory() {
        return members.stream().map(ProcessMemory::of).flatMap(Optional::stream)
            .reduce(NONE, ProcessMemory::plus);
    }

    private double cpuSeconds() {
        return members.stream().map(ProcessHandle::of).flatMap(Optional::stream)
            .map(member -> member.info().totalCpuDuration()).flatMap(Optional::stream)
            .mapToLong(Duration::toNanos).sum() / 1e9;
    }

    /** Waits for the process to exit and stops it after {@code limit}. */
    End await(Duration limit) throws InterruptedException {
        long deadline = start + limit.toNanos();
        boolean ended = false;
        long nextListing = start;
        while (!ended && System.nanoTime() < deadline) {
            if (System.nanoTime() >= nextListing) {
                members = Stream.concat(Stream.of(process.toHandle()), process.descendants())
                    .map(ProcessHandle::pid).toList();
                nextListing += LIST_INTERVAL.toNanos();
            }
            peak = peak.max(memory());
            ended = process.waitFor(SAMPLE_MILLIS, TimeUnit.MILLISECONDS);
        }
        double seconds = seconds();
        if (!ended) {
            stop();
        }
        reader.join(GRACE);
        return new End(process.isAlive() ? -1 : process.exitValue(), !ended, seconds, peak);
    }

    private double seconds() {
        return (System.nanoTime() - start) / 1e9;
    }

    /** Sends SIGTERM to all processes, then SIGKILL to those still alive after the grace period. */
    private void stop() throws InterruptedException {
        List<ProcessHandle> members = Stream.concat(process.descendants(), Stream.of(process.toHandle())).toList();
        members.forEach(ProcessHandle::destroy);
        long deadline = System.nanoTime() + GRACE.toNanos();
        for (ProcessHandle member : members) {
            while (member.isAlive() && System.nanoTime() < deadline) {
                Thread.sleep(SAMPLE_MILLIS);
            }
            member.destroyForcibly();
        }
        process.waitFor(GRACE.toMillis(), TimeUnit.MILLISECONDS);
    }

    private void kill() {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
    }

    /** Kills all processes that still run. */
    @Override
    public void close() {
        kill();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException endingAlready) {
            // The JVM is exiting: the hook repeats the kill.
        }
    }
}
