package org.isobar.bench.measure;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.isobar.data.DataLoader;
import org.isobar.data.DistributedSampler;
import org.isobar.data.Era5Dataset;
import org.isobar.device.Device;

/**
 * Measures how fast the data loader reads and normalizes samples from files in the page cache, and how fast the same
 * number of threads copies the same number of bytes. The variants alternate. The samples are discarded.
 */
public final class LoaderBenchmark {
    private static final List<Integer> WORKERS = List.of(0, 1, 2, 4);
    private static final List<Integer> COPIERS = List.of(1, 2, 4);
    private static final int PASSES = 9; // over all samples, after one warmup pass
    private static final int SLOW_PASSES = 2;

    private final Device device;
    private final LoaderFiles files;
    private final Timing timing;
    private final Map<LoaderResult.Rate, List<Double>> rates = new LinkedHashMap<>(); // bytes per second

    /** Creates a benchmark of existing files. The caller closes {@code device}. */
    public LoaderBenchmark(Device device, LoaderFiles files, Timing timing) {
        this.device = device;
        this.files = files;
        this.timing = timing;
    }

    /** Runs the benchmark. */
    public LoaderResult run() {
        try (Copies copies = new Copies(files.sampleBytes(), files.frames())) {
            for (String layout : files.layouts()) {
                layout(layout, copies);
            }
        }
        List<LoaderResult.Rate> results = new ArrayList<>();
        rates.forEach((way, passes) -> results.add(new LoaderResult.Rate(way.layout(), way.way(), way.threads(),
            Spread.of(passes.stream().mapToDouble(Double::doubleValue).toArray(), timing, rate -> rate))));
        return new LoaderResult("isobar", files.sampleBytes(), results, Map.of());
    }

    private void layout(String layout, Copies copies) {
        try (Era5Dataset dataset = Era5Dataset.open(files.dataset(layout))) {
            List<DataLoader> loaders = new ArrayList<>();
            try {
                for (int workers : WORKERS) {
                    loaders.add(new DataLoader(device, dataset,
                        new DistributedSampler(dataset.size(), 1, 1, 0, true, 1), workers));
                }
                int passes = layout.equals(LoaderFiles.LAYOUTS.getFirst()) ? PASSES : SLOW_PASSES;
                for (int pass = 0; pass <= passes; pass++) {
                    pass(layout, pass, loaders, copies);
                }
            } finally {
                loaders.forEach(DataLoader::close);
            }
        }
    }

    private void pass(String layout, int pass, List<DataLoader> loaders, Copies copies) {
        for (int threads : COPIERS) {
            record(pass, new LoaderResult.Rate(LoaderResult.MEMORY, "memcpy", threads, null), files.frames(),
                () -> copies.run(threads));
        }
        for (int i = 0; i < loaders.size(); i++) {
            DataLoader loader = loaders.get(i);
            int workers = WORKERS.get(i);
            record(pass, new LoaderResult.Rate(layout, workers + (workers == 1 ? " worker" : " workers"),
                Math.max(1, workers), null), loader.steps(), () -> read(loader, pass));
        }
    }

    private void record(int pass, LoaderResult.Rate way, int samples, Runnable work) {
        long start = System.nanoTime();
        work.run();
        double seconds = (System.nanoTime() - start) / 1e9;
        if (pass > 0) {
            rates.computeIfAbsent(way, unused -> new ArrayList<>()).add(samples * files.sampleBytes() / seconds);
        }
    }

    private static void read(DataLoader loader, int epoch) {
        try (DataLoader.Epoch batches = loader.epoch(epoch)) {
            while (batches.hasNext()) {
                batches.next().close();
            }
        }
    }

    /** Copies samples from a buffer of all samples to a buffer of one sample per thread. */
    private static final class Copies implements AutoCloseable {
        private final Arena arena = Arena.ofShared();
        private final long bytes;
        private final int samples;
        private final MemorySegment from;
        private final List<MemorySegment> to;

        Copies(long bytes, int samples) {
            this.bytes = bytes;
            this.samples = samples;
            from = arena.allocate(bytes * samples, Float.BYTES).fill((byte) 1);
            to = IntStream.range(0, COPIERS.getLast()).mapToObj(unused -> arena.allocate(bytes, Float.BYTES)).toList();
        }

        void run(int threads) {
            List<Thread> helpers = new ArrayList<>();
            for (int i = 1; i < threads; i++) {
                int index = i;
                helpers.add(Thread.ofPlatform().daemon().start(() -> copy(index, threads)));
            }
            copy(0, threads);
            try {
                for (Thread helper : helpers) {
                    helper.join();
                }
            } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
            }
        }

        private void copy(int index, int threads) {
            for (int i = index; i < samples; i += threads) {
                MemorySegment.copy(from, i * bytes, to.get(index), 0, bytes);
            }
        }

        @Override
        public void close() {
            arena.close();
        }
    }
}
