package org.isobar.bench.suite;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

import org.isobar.bench.measure.BenchmarkPart;
import org.isobar.bench.measure.Timing;
import org.isobar.os.FileFault;

/**
 * The parts of a benchmark, one after the other in a process each. One that fails is noted with its reason, one for
 * which no time is left is skipped, and the rest goes on.
 */
final class PartRunner {
    private static final Duration LEAST = Duration.ofSeconds(10); // that is worth starting a part
    private static final int LONGEST_REASON = 300;

    private final Path directory;
    private final Timing timing;
    private final Duration budget;
    private final Consumer<String> progress;
    private final long start = System.nanoTime();
    private int failed;

    /**
     * Parts without any yet.
     *
     * @param directory takes {@code parts.tsv}, and of each part a log and what else it writes
     * @param budget    of all together
     * @param progress  is told of each
     */
    PartRunner(Path directory, Timing timing, Duration budget, Consumer<String> progress) {
        this.directory = directory;
        this.timing = timing;
        this.budget = budget;
        this.progress = progress;
    }

    /**
     * What is to be run.
     *
     * @param limit of its time
     */
    record Plan(String name, List<String> command, Duration limit) { }

    /** The directory of the results. */
    Path directory() {
        return directory;
    }

    /** Whether times are noted. */
    Timing timing() {
        return timing;
    }

    /** Where a part puts what it measured. */
    Path json(String name) {
        return directory.resolve(name + ".json");
    }

    /** How many have failed. */
    int failed() {
        return failed;
    }

    /** Whether there is time for another part. */
    boolean timeIsLeft() {
        return left().compareTo(LEAST) >= 0;
    }

    private Duration left() {
        return budget.minusNanos(System.nanoTime() - start);
    }

    /** Runs a part whose output nobody listens to. */
    boolean run(Plan plan) {
        return run(plan, (text, seconds, memory) -> { });
    }

    /** Runs a part; returns whether it did what it was to do. */
    boolean run(Plan plan, WatchedProcess.Listener listener) {
        return run(plan, listener, BenchmarkPart.FAILED);
    }

    /** Runs a part that may fail: then it counts as skipped. */
    boolean tryOut(Plan plan) {
        return run(plan, (text, seconds, memory) -> { }, BenchmarkPart.SKIPPED);
    }

    private boolean run(Plan plan, WatchedProcess.Listener listener, String otherwise) {
        if (!timeIsLeft()) {
            skip(plan.name(), "the time budget of " + budget.toSeconds() + " s is spent; --budget gives more");
            return false;
        }
        Duration limit = left().compareTo(plan.limit()) < 0 ? left() : plan.limit();
        Path log = directory.resolve(plan.name() + ".log");
        try (WatchedProcess child = new WatchedProcess(plan.command(), log, listener)) {
            WatchedProcess.End end = child.await(limit);
            boolean done = end.status() == 0 && !end.late();
            boolean timed = timing == Timing.MEASURED;
            note(new BenchmarkPart(plan.name(), done ? BenchmarkPart.OK : otherwise, timed
                ? Double.valueOf(end.seconds()) : null,
                null, done ? "" : reason(end, limit, log), timed ? end.peak() : null));
            return done;
        } catch (IOException noProcess) {
            note(new BenchmarkPart(plan.name(), otherwise, null, null, String.valueOf(noProcess.getMessage()), null));
            return false;
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
            note(new BenchmarkPart(plan.name(), otherwise, null, null, "interrupted", null));
            return false;
        }
    }

    /** Notes that a part is not begun. */
    void skip(String name, String reason) {
        note(new BenchmarkPart(name, BenchmarkPart.SKIPPED, null, null, reason, null));
    }

    private void note(BenchmarkPart part) {
        failed += part.result().equals(BenchmarkPart.FAILED) ? 1 : 0;
        append("parts.tsv", part.line());
        progress.accept(String.format("%-34s %s %s", part.name(), part.result(), part.reason()).stripTrailing());
    }

    /** Notes something of the machine or the run. */
    void fact(String key, String value) {
        append("facts.tsv", key + "\t" + value.replaceAll("\\s+", " "));
    }

    private void append(String file, String line) {
        Path path = directory.resolve(file);
        try {
            Files.writeString(path, line + "\n", StandardCharsets.UTF_8, StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
        } catch (IOException failure) {
            throw FileFault.unwritable("results to " + path, "DIR", failure);
        }
    }

    /** What a part said last, on one line: why it failed. */
    private static String reason(WatchedProcess.End end, Duration limit, Path log) throws IOException {
        if (end.late()) {
            return "ended after " + limit.toSeconds() + " s, its limit";
        }
        String said = Files.readAllLines(log, StandardCharsets.UTF_8).stream()
            .filter(line -> !line.isBlank() && !line.startsWith("WARNING")).reduce("", (before, last) -> last);
        String text = "status " + end.status() + (said.isEmpty() ? "" : ": " + said.strip());
        return text.substring(0, Math.min(text.length(), LONGEST_REASON));
    }
}
