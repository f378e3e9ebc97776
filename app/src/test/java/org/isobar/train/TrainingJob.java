package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.isobar.backend.host.Ranks;
import org.isobar.telemetry.EventFile;

/** A job of several processes that train preset {@code tiny} on one thread each. Closing it kills what is left. */
final class TrainingJob implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofMinutes(3); // for a loaded machine
    private static final String SECRET = "a secret of this test alone";

    private final Path data;
    private final Path directory;
    private final int port;
    private final List<Process> processes = new ArrayList<>();

    /** A job that has no process yet; it writes under {@code directory}. */
    TrainingJob(Path data, Path directory) throws IOException {
        this(data, directory, Ranks.freePort());
    }

    /** The same, meeting at the given port. */
    TrainingJob(Path data, Path directory, int port) {
        this.data = data;
        this.directory = directory;
        this.port = port;
    }

    /** A job of {@code count} processes of {@code isobar train}, all with the same options, to its end. */
    static TrainingJob run(Path data, Path directory, int count, String... options) throws Exception {
        return run(data, directory, count, Map.of(), options);
    }

    /** The same, each process with a simulated GPU of its own. */
    static TrainingJob runOnGpus(Path data, Path directory, int count, String... options) throws Exception {
        return run(data, directory, count, Map.of("ISOBAR_SIM_GPUS", String.valueOf(count)), options);
    }

    private static TrainingJob run(Path data, Path directory, int count, Map<String, String> variables,
        String... options) throws Exception {
        Map<String, String> environment = new HashMap<>(variables);
        environment.put("WORLD_SIZE", String.valueOf(count));
        try (TrainingJob job = new TrainingJob(data, directory)) {
            for (int rank = 0; rank < count; rank++) {
                job.start("org.isobar.cli.Main", rank, environment, options);
            }
            for (int rank = 0; rank < count; rank++) {
                assertEquals(0, job.code(rank), job.screens());
            }
            return job;
        }
    }

    /** Fails unless each loss differs from the expected one by that part of it at most. */
    void expectLosses(Map<String, List<Double>> expected, double tolerance) throws IOException {
        Map<String, List<Double>> found = losses(directory());
        assertEquals(expected.keySet(), found.keySet());
        expected.forEach((kind, losses) -> {
            assertEquals(losses.size(), found.get(kind).size());
            for (int epoch = 0; epoch < losses.size(); epoch++) {
                double loss = losses.get(epoch);
                assertEquals(loss, found.get(kind).get(epoch), tolerance * loss, kind + " of epoch " + epoch);
            }
        });
    }

    /** Starts the next process as rank {@code rank} of {@code worldSize}. */
    void start(int rank, int worldSize, String... options) throws IOException {
        start("org.isobar.cli.Main", rank, Map.of("WORLD_SIZE", String.valueOf(worldSize)), options);
    }

    /** Starts the next process with a main class and variables of its own. */
    void start(String main, int rank, Map<String, String> variables, String... options) throws IOException {
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        List<String> command = new ArrayList<>(List.of(java.toString(),
            "@" + Path.of("jvm.options").toAbsolutePath(), "-ea", "-Xmx256m", "-XX:TieredStopAtLevel=1",
            "-Disobar.home=" + Path.of("..").toAbsolutePath(), "-cp", System.getProperty("java.class.path"), main,
            "train", "--config=tiny", "--threads=1", "--data_dir=" + data, "--expdir=" + directory.resolve("runs")));
        command.addAll(List.of(options));
        ProcessBuilder builder = new ProcessBuilder(command).directory(directory.toFile())
            .redirectErrorStream(true).redirectOutput(screen(processes.size()).toFile())
            .redirectInput(new File("/dev/null"));
        Map<String, String> environment = builder.environment();
        environment.keySet().removeIf(name -> name.startsWith("SLURM_"));
        environment.keySet().removeAll(List.of("DATADIR", "LOGDIR"));
        environment.putAll(Map.of("RANK", String.valueOf(rank), "LOCAL_RANK", String.valueOf(rank),
            "MASTER_ADDR", "127.0.0.1", "MASTER_PORT", String.valueOf(port), "ISOBAR_JOB_SECRET", SECRET));
        environment.putAll(variables);
        processes.add(builder.start());
    }

    /** Lets a stopped process run on. */
    void resume(int index) throws IOException, InterruptedException {
        new ProcessBuilder("kill", "-CONT", String.valueOf(processes.get(index).pid())).start().waitFor();
    }

    /** The process that was started at place {@code index}. */
    ProcessHandle process(int index) {
        return processes.get(index).toHandle();
    }

    /** Number of processes. */
    int size() {
        return processes.size();
    }

    /** Exit code of the process that was started at place {@code index}, however loaded the machine. */
    int code(int index) throws InterruptedException {
        return code(index, PATIENCE);
    }

    /** The same within a limit. */
    int code(int index, Duration limit) throws InterruptedException {
        if (!processes.get(index).waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
            fail("process " + index + " still runs after " + limit + "\n" + screens());
        }
        return processes.get(index).exitValue();
    }

    /** What a process has shown so far, standard output and errors. */
    String shown(int index) {
        try {
            return Files.readString(screen(index));
        } catch (IOException unreadable) {
            throw new AssertionError(unreadable);
        }
    }

    /** Waits until a process has shown {@code text}. */
    void awaitShown(int index, String text) throws InterruptedException {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!shown(index).contains(text)) {
            assertTrue(System.nanoTime() < deadline
                && (processes.get(index).isAlive() || shown(index).contains(text)),
                () -> "process " + index + " does not say " + text + "\n" + screens());
            Thread.sleep(10);
        }
    }

    /** What all have shown, for messages. */
    String screens() {
        StringBuilder all = new StringBuilder();
        for (int index = 0; index < processes.size(); index++) {
            all.append("--- process ").append(index).append('\n').append(shown(index));
        }
        return all.toString();
    }

    /** The directory of the run. */
    Path directory() throws IOException {
        try (Stream<Path> files = Files.walk(directory.resolve("runs"))) {
            return files.filter(file -> file.endsWith("out.log")).findAny().orElseThrow().getParent();
        }
    }

    /** What the run has told TensorBoard. */
    EventFile events() throws IOException {
        try (Stream<Path> files = Files.list(directory().resolve("logs"))) {
            return EventFile.read(files.findAny().orElseThrow());
        }
    }

    /** Numbers of the log of {@code run} by what they are, in order: training and validation losses of the epochs. */
    static Map<String, List<Double>> losses(Path run) throws IOException {
        Map<String, List<Double>> losses = new TreeMap<>();
        for (String line : Files.readAllLines(run.resolve("out.log"))) {
            for (String kind : List.of("Avg train loss=", "Avg val loss=")) {
                int at = line.indexOf(kind);
                if (at >= 0) {
                    losses.computeIfAbsent(kind, any -> new ArrayList<>())
                        .add(Double.valueOf(line.substring(at + kind.length())));
                }
            }
        }
        return losses;
    }

    private Path screen(int index) {
        return directory.resolve("screen" + index);
    }

    /** Kills all that still run. */
    void kill() {
        processes.forEach(Process::destroyForcibly);
    }

    @Override
    public void close() {
        kill();
    }
}
