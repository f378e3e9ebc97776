package org.isobar.train;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.checkpoint.Checkpoint;
import org.isobar.checkpoint.CheckpointWriter;
import org.isobar.checkpoint.Description;
import org.isobar.checkpoint.SaveResult;

/**
 * How fast weights and moments come back from a disk, beside {@code dd} of the same files: in turn, each time with none
 * of the files in the system's cache. Arguments: a directory on the disk in question, {@code 200MB} or {@code 2GB}, how
 * many ranks have shared the weights that wrote, how many that read, and rounds. Of those that read, the last is
 * measured. See {@code docs/benchmarks/checkpoints.md}.
 */
final class RestoringBenchmark {
    private static final double MEGA = 1e6;
    private static final Duration PATIENCE = Duration.ofMinutes(10);

    private final Path checkpoint;
    private final BenchmarkedRank reader;
    private final double[] control;

    private RestoringBenchmark(Path checkpoint, BenchmarkedRank reader) {
        this.checkpoint = checkpoint;
        this.reader = reader;
        control = reader.replica().state().control();
    }

    /** Writes a checkpoint, prints what reading it takes, and deletes it. */
    public static void main(String... arguments) throws Exception {
        Path directory = Path.of(arguments[0]);
        String[] extents = arguments[1].equals("2GB") ? BenchmarkedRank.GB_2 : BenchmarkedRank.MB_200;
        int writers = Integer.parseInt(arguments[2]);
        int readers = Integer.parseInt(arguments[3]);
        Path checkpoint = write(directory, writers, extents);
        try (BenchmarkedRank reader = BenchmarkedRank.of(readers, readers - 1, directory, extents)) {
            new RestoringBenchmark(checkpoint, reader).run(Integer.parseInt(arguments[4]));
        } finally {
            List<Path> all = files(checkpoint);
            for (Path path : Stream.concat(all.stream(), Stream.of(checkpoint)).toList()) {
                Files.delete(path);
            }
        }
    }

    private static Path write(Path directory, int writers, String... extents) throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(writers)) {
            SaveResult result = IntStream.range(0, writers).mapToObj(rank ->
                threads.submit(() -> write(directory, writers, rank, extents))).toList().getFirst().get();
            return ((SaveResult.Done) result).path();
        }
    }

    private static SaveResult write(Path directory, int writers, int rank, String... extents) {
        try (BenchmarkedRank writer = BenchmarkedRank.of(writers, rank, directory, extents);
            Snapshot snapshot = new Snapshot(writer.device(), writer.replica().state().share(writer.grid(), rank))) {
            snapshot.take();
            return new CheckpointWriter(directory, "benchmark", rank, writers, PATIENCE).write(1, snapshot.pieces(),
                new Description(writer.config().entries(), writer.state()));
        }
    }

    private void run(int rounds) throws IOException, InterruptedException {
        double written = 0;
        for (Path file : files(checkpoint)) {
            written += Files.size(file);
        }
        double needed = 3.0 * reader.replica().parameters().parameters().stream()
            .mapToLong(parameter -> parameter.value().bytes()).sum();
        double[] disk = new double[rounds];
        double[] restored = new double[rounds];
        double[] verified = new double[rounds];
        double[] again = new double[rounds];
        long asked = 0;
        for (int round = 0; round < rounds; round++) {
            forgetFiles();
            disk[round] = written / seconds(this::dd) / MEGA;
            forgetFiles();
            long before = charactersRead();
            restored[round] = needed / seconds(this::restore) / MEGA;
            asked = charactersRead() - before;
            forgetFiles();
            verified[round] = written / seconds(this::find) / MEGA;
            again[round] = needed / seconds(this::restore) / MEGA;
        }
        System.out.printf(Locale.ROOT, "%.1f MB in files, %.1f MB needed, %.1f MB read for that%n", written / MEGA,
            needed / MEGA, asked / MEGA);
        report("dd", disk, disk);
        report("restore", restored, disk);
        report("verify, as --resume auto does", verified, disk);
        report("restore after that", again, disk);
    }

    /** What --resume auto does on rank 0 before it takes a checkpoint. */
    private void find() {
        Checkpoint.newest(checkpoint.getParent(), Checkpoint.Scrutiny.CHECKSUMS, skipped -> {
            throw new IllegalStateException(skipped);
        }).orElseThrow().close();
    }

    private void restore() {
        try (Checkpoint open = Checkpoint.open(checkpoint)) {
            reader.replica().state().restore(open, control);
        }
    }

    private void dd() throws IOException, InterruptedException {
        for (Path file : files(checkpoint)) {
            run("dd", "if=" + file, "of=/dev/null", "bs=1M");
        }
    }

    /** Has the system drop the files' pages, which are on the disk already. */
    private void forgetFiles() throws IOException, InterruptedException {
        for (Path file : files(checkpoint)) {
            run("dd", "if=" + file, "iflag=nocache", "count=0");
        }
    }

    private static void run(String... command) throws IOException, InterruptedException {
        if (new ProcessBuilder(command).redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD).start().waitFor() != 0) {
            throw new IOException(String.join(" ", command) + " failed");
        }
    }

    private static long charactersRead() throws IOException {
        return Long.parseLong(Files.readAllLines(Path.of("/proc/self/io")).getFirst().substring("rchar: ".length()));
    }

    private static List<Path> files(Path checkpoint) throws IOException {
        try (Stream<Path> files = Files.list(checkpoint)) {
            return files.toList();
        }
    }

    /** Something to be timed. */
    private interface Work {
        void run() throws IOException, InterruptedException;
    }

    private static double seconds(Work work) throws IOException, InterruptedException {
        long start = System.nanoTime();
        work.run();
        return (System.nanoTime() - start) / 1e9;
    }

    private static void report(String name, double[] speeds, double[] disk) {
        double[] ratios = IntStream.range(0, speeds.length).mapToDouble(i -> speeds[i] / disk[i]).sorted().toArray();
        double[] sorted = Arrays.stream(speeds).sorted().toArray();
        int last = sorted.length - 1;
        System.out.printf(Locale.ROOT, "%-30s %6.0f MB/s (%.0f to %.0f), of dd's speed %.2f (%.2f to %.2f)%n", name,
            sorted[sorted.length / 2], sorted[0], sorted[last], ratios[ratios.length / 2], ratios[0], ratios[last]);
    }
}
