package org.isobar.train;

import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

import org.isobar.checkpoint.CheckpointWriter;
import org.isobar.device.HostBuffer;
import org.isobar.device.Span;
import org.isobar.random.Philox;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.Screen;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.vit.VitConfig;

/**
 * What saving costs a training loop whose state is 200 MB: rounds of so many seconds of steps, in turn without a save
 * and with one at the beginning. Arguments: a directory on the disk in question, seconds of a round, and rounds of each
 * kind. See {@code docs/benchmarks/checkpoints.md}.
 */
final class SavingBenchmark implements AutoCloseable {
    private static final int WARM_UP = 10;

    private final BenchmarkedRank rank;
    private final Path directory;
    private final HostBuffer input;
    private final HostBuffer target;
    private final SavesBeside saves;
    private final List<Double> shares = new ArrayList<>();
    private int step;

    private SavingBenchmark(Path directory) {
        this.directory = directory;
        rank = BenchmarkedRank.of(1, 0, directory, BenchmarkedRank.MB_200);
        VitConfig model = rank.config().model();
        Shape images = Shape.of(rank.config().training().localBatchSize(), model.inChannels(), model.height(),
            model.width());
        input = images(images, "input");
        target = images(images, "target");
        Snapshot snapshot = new Snapshot(rank.device(), rank.replica().state().share(rank.grid(), 0));
        System.out.printf(Locale.ROOT, "state %.1f MB%n",
            snapshot.pieces().stream().mapToLong(piece -> piece.bytes()).sum() / 1e6);
        saves = new SavesBeside(rank.config(), new RunLog(Screen.plain(System.out)),
            new CheckpointWriter(directory, "benchmark", 0, 1, SavesBeside.PATIENCE), snapshot, Interruption.NONE,
            () -> { });
    }

    /** Prints what each round took. */
    public static void main(String... arguments) throws Exception {
        double seconds = Double.parseDouble(arguments[1]);
        try (SavingBenchmark benchmark = new SavingBenchmark(Path.of(arguments[0]))) {
            for (int i = 0; i < WARM_UP; i++) {
                benchmark.step();
            }
            for (int round = 0; round < Integer.parseInt(arguments[2]); round++) {
                double without = benchmark.withoutSave(seconds);
                benchmark.withSave(seconds, without);
            }
            double[] shares = benchmark.shares.stream().mapToDouble(share -> share).sorted().toArray();
            System.out.printf(Locale.ROOT, "stall and slower steps: median %.2f %%, %.2f to %.2f %%%n",
                100 * shares[shares.length / 2], 100 * shares[0], 100 * shares[shares.length - 1]);
        }
    }

    /** Steps a second. */
    private double withoutSave(double seconds) {
        long start = System.nanoTime();
        int steps = 0;
        for (; since(start) < seconds; steps++) {
            step();
        }
        return steps / since(start);
    }

    private void withSave(double seconds, double without) {
        Path written = directory.resolve("checkpoint-" + step);
        List<Double> meanwhile = new ArrayList<>();
        List<Double> after = new ArrayList<>();
        long start = System.nanoTime();
        saves.save(step, rank.state());
        double stall = since(start);
        double writing = 0;
        while (since(start) < seconds) {
            boolean isWriting = Files.notExists(written);
            (isWriting ? meanwhile : after).add(step());
            if (isWriting) {
                writing = since(start) - stall;
            }
        }
        double with = (meanwhile.size() + after.size()) / since(start);
        if (after.isEmpty()) {
            System.out.printf(Locale.ROOT, "stall %5.1f ms; not written within %.0f s%n", stall * 1e3, seconds);
            return;
        }
        double usual = median(after);
        double lost = stall + meanwhile.stream().mapToDouble(time -> time - usual).sum();
        shares.add(lost / seconds);
        System.out.printf(Locale.ROOT, "stall %5.1f ms; written within %.2f s, in which a step took %.1f ms, "
            + "afterwards %.1f ms; lost %.0f ms, %.2f %%; steps/s with a save / without %.4f%n", stall * 1e3, writing,
            median(meanwhile) * 1e3, usual * 1e3, lost * 1e3, 100 * lost / seconds, with / without);
    }

    /** Seconds of a step. */
    private double step() {
        long start = System.nanoTime();
        int batch = rank.config().training().localBatchSize();
        rank.replica().trainStep(input.toDevice(), target.toDevice(),
            new Replica.StepContext(1, step++, Span.whole(batch), 1e-4));
        return since(start);
    }

    private HostBuffer images(Shape shape, String name) {
        HostBuffer images = rank.device().hostBuffer(DType.F32, shape);
        Philox.Key key = Philox.Key.of(1, name);
        for (long i = 0; i < shape.elements(); i++) {
            images.segment().setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) Philox.uniform(key, i) - 0.5f);
        }
        return images;
    }

    private static double since(long start) {
        return (System.nanoTime() - start) / 1e9;
    }

    private static double median(List<Double> values) {
        double[] sorted = values.stream().mapToDouble(value -> value).toArray();
        Arrays.sort(sorted);
        return sorted.length == 0 ? Double.NaN : sorted[sorted.length / 2];
    }

    @Override
    public void close() {
        saves.close();
        target.close();
        input.close();
        rank.close();
    }
}
