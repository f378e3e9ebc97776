package org.isobar.bench.suite;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

import org.isobar.bench.measure.BenchmarkPart;
import org.isobar.bench.measure.Timing;
import org.isobar.os.FileFault;

/**
 * Runs the parts of a benchmark one after another, each in its own process. A part that fails is recorded with its
 * reason; a part for which no time is left is skipped; the other parts still run.
 */
final class PartRunner {
    private static final Duration MIN_TIME = Duration.ofSeconds(10); // remaining, to start a part
    private static final int LONGEST_REASON = 300;

    private final Path directory;
    private final Timing timing;
    private final Duration budget;
    private final Consumer<String> progress;
    private final long start = System.nanoTime();
    private int failed;

    /**
     * Creates a runner.
     *
     * @param directory directory for {@code parts.tsv}, logs and results
     * @param budget    time limit of all parts together
     * @param progress  receives one line for each part
     */
    PartRunner(Path directory, Timing timing, Duration budget, Consumer<String> progress) {
        this.directory = directory;
        this.timing = timing;
        this.budget = budget;
        this.progress = progress;
    }

    /**
     * A part to run.
     *
     * @param limit time limit
     */
    record Plan(String name, List<String> command, Duration limit) { }

    /** The directory of the results. */
    Path directory() {
        return directory;
    }

    /** Whether times are recorded. */
    Timing timing() {
        return timing;
    }

    /** Result file of a part. */
    Path json(String name) {
        return directory.resolve(name + ".json");
    }

    /** Number of failed parts. */
    int failed() {
        return failed;
    }

    /** Whether enough time is left for another part. */
    boolean timeIsLeft() {
        return left().compareTo(MIN_TIME) >= 0;
    }

    private Duration left() {
        return budget.minusNanos(System.nanoTime() - start);
    }

    /** Runs a part without a listener. */
    boolean run(Plan plan) {
        return run(plan, (text, seconds, usage) -> { });
    }

    /** Runs a part; returns whether it succeeded. */
    boolean run(Plan plan, WatchedProcess.Listener listener) {
        return run(plan, listener, BenchmarkPart.FAILED);
    }

    /** Runs a part that may fail; a failure is recorded as skipped. */
    boolean tryOut(Plan plan) {
        return run(plan, (text, seconds, usage) -> { }, BenchmarkPart.SKIPPED);
    }

    private boolean run(Plan plan, WatchedProcess.Listener listener, String failure) {
        if (!timeIsLeft()) {
            skip(plan.name(), "the time budget of " + budget.toSeconds() + " s is spent; --budget gives more");
            return false;
        }
        Duration limit = left().compareTo(plan.limit()) < 0 ? left() : plan.limit();
        Path log = directory.resolve(plan.name() + ".log");
        try (WatchedProcess child = new WatchedProcess(plan.command(), log, listener)) {
            WatchedProcess.End end = child.await(limit);
            boolean done = end.status() == 0 && !end.timedOut();
            boolean timed = timing == Timing.MEASURED;
            record(new BenchmarkPart(plan.name(), done ? BenchmarkPart.OK : failure, timed
                ? Double.valueOf(end.seconds()) : null,
                null, done ? "" : reason(end, limit, log), timed ? end.peak() : null));
            return done;
        } catch (IOException noProcess) {
            record(new BenchmarkPart(plan.name(), failure, null, null, String.valueOf(noProcess.getMessage()), null));
            return false;
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
            record(new BenchmarkPart(plan.name(), failure, null, null, "interrupted", null));
            return false;
        }
    }

    /** Records that a part is not run. */
    void skip(String name, String reason) {
        record(new BenchmarkPart(name, BenchmarkPart.SKIPPED, null, null, reason, null));
    }

    private void record(BenchmarkPart part) {
        failed += part.result().equals(BenchmarkPart.FAILED) ? 1 : 0;
        append("parts.tsv", part.line());
        progress.accept(String.format("%-34s %s %s", part.name(), part.result(), part.reason()).stripTrailing());
    }

    /** Records a fact about the machine or the run. */
    void fact(String key, String value) {
        append("facts.tsv", key + "\t" + value.replaceAll("\\s+", " "));
    }

    private void append(String file, String line) {
        Path path = directory.resolve(file);
        try {
            Files.writeString(path, line + "\n", StandardCharsets.UTF_8, StandardOpenOption.CREATE,
                StandardOpenOption.APPEND, LinkOption.NOFOLLOW_LINKS);
        } catch (IOException failure) {
            throw FileFault.unwritable("results to " + path, "DIR", failure);
        }
    }

    /** Why a part failed: its exit status and the last line of its log. */
    private static String reason(WatchedProcess.End end, Duration limit, Path log) throws IOException {
        if (end.timedOut()) {
            return "stopped at its time limit of " + limit.toSeconds() + " s";
        }
        String lastLine = Files.readAllLines(log, StandardCharsets.UTF_8).stream()
            .filter(line -> !line.isBlank() && !line.startsWith("WARNING")).reduce("", (before, last) -> last);
        String text = "status " + end.status() + (lastLine.isEmpty() ? "" : ": " + lastLine.strip());
        return text.substring(0, Math.min(text.length(), LONGEST_REASON));
    }
}
