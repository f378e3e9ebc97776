package org.isobar.bench.suite;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.isobar.os.ProcessMemory;

/**
 * A process, and those that it starts, watched from start to end: its lines as they come, and its memory twenty times a
 * second. Whom it has started is looked for once a second, for that means reading all of {@code /proc}; so a child that
 * lives for less can be missed. It is ended at its time limit, and with this process.
 */
final class WatchedProcess implements AutoCloseable {
    private static final long SAMPLE_MILLIS = 50;
    private static final Duration LOOK = Duration.ofSeconds(1);
    private static final Duration GRACE = Duration.ofSeconds(5);
    private static final ProcessMemory NONE = new ProcessMemory(0, 0, 0);

    private final long start = System.nanoTime();
    private final Process process;
    private final Thread reader;
    private final Thread hook = new Thread(this::kill, "end of a part");
    private volatile List<Long> members; // that were there when somebody looked
    private ProcessMemory peak = NONE;

    /** Who hears each line that the process writes, how many seconds after its start, and can ask for its memory. */
    interface Listener {
        /** Called on a thread of its own, in order. */
        void line(String text, double seconds, Supplier<ProcessMemory> memory);
    }

    /**
     * How a process ended.
     *
     * @param status  exit code; 128 + n upon signal n
     * @param late    whether that was because its time was up
     * @param seconds it ran
     * @param peak    most memory of it and its children together, looked at twenty times a second; of {@code peak},
     *                what the kernel kept
     */
    record End(int status, boolean late, double seconds, ProcessMemory peak) { }

    /**
     * Starts a command.
     *
     * @param log takes its output
     * @throws IOException if there is no such command, or no place for the log
     */
    WatchedProcess(List<String> command, Path log, Listener listener) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        PrintWriter file = new PrintWriter(Files.newBufferedWriter(log, StandardCharsets.UTF_8));
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
        } catch (IllegalStateException endingAlready) { // nobody would end it any more
            process.destroyForcibly();
            file.close();
            throw endingAlready;
        }
        reader = Thread.ofPlatform().daemon().name("output of a part").start(() -> relay(file, listener));
    }

    private void relay(PrintWriter log, Listener listener) {
        try (log; BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                listener.line(line, seconds(), this::memory);
                log.println(line);
            }
        } catch (IOException | UncheckedIOException ended) {
            // The process is gone, and so is what it had not written.
        }
    }

    /** Memory of the process and its children now. */
    ProcessMemory memory() {
        return members.stream().map(ProcessMemory::of).flatMap(Optional::stream)
            .reduce(NONE, ProcessMemory::plus);
    }

    /** Waits for the process to end, and ends it after {@code limit}. */
    End await(Duration limit) throws InterruptedException {
        long deadline = start + limit.toNanos();
        boolean ended = false;
        long look = start;
        while (!ended && System.nanoTime() < deadline) {
            if (System.nanoTime() >= look) {
                members = Stream.concat(Stream.of(process.toHandle()), process.descendants())
                    .map(ProcessHandle::pid).toList();
                look += LOOK.toNanos();
            }
            peak = peak.max(memory());
            ended = process.waitFor(SAMPLE_MILLIS, TimeUnit.MILLISECONDS);
        }
        double seconds = seconds();
        if (!ended) {
            end();
        }
        reader.join(GRACE);
        return new End(process.isAlive() ? -1 : process.exitValue(), !ended, seconds, peak);
    }

    private double seconds() {
        return (System.nanoTime() - start) / 1e9;
    }

    /** Asks all to end, then makes them. */
    private void end() throws InterruptedException {
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

    /** Ends what still runs. */
    @Override
    public void close() {
        kill();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException endingAlready) {
            // The hook does what has just been done.
        }
    }
}
