package org.isobar.data;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;

import org.isobar.device.Device;
import org.isobar.device.ProfilerRanges;

/**
 * Loads the batches of a data set in the order of a sampler. A fixed number of threads prefetches them into a fixed
 * ring of buffers. Order and contents do not depend on the number of threads; with 0 threads the calling thread reads.
 * Usage:
 * <pre>
 * try (DataLoader.Epoch epoch = loader.epoch(number)) {
 *     while (epoch.hasNext()) {
 *         try (Batch batch = epoch.next()) {
 *             ...
 *         }
 *     }
 * }
 * </pre>
 * One thread consumes the batches, and one epoch is open at a time. Close the loader before its data set and its
 * device.
 */
public final class DataLoader implements Batch.Source, AutoCloseable {
    private static final int MOST_SLOTS = 4;
    private static final long PREFETCH_BYTES = 64 << 20; // enough outstanding requests to keep any disk busy
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final Era5Dataset dataset;
    private final BatchPipeline pipeline;
    private final ProfilerRanges ranges;
    private final DistributedSampler sampler;
    private final PrefetchSchedule schedule;
    private final PageCachePrefetcher prefetcher; // of the calling thread, used with 0 workers
    private final List<Batch> slots = new ArrayList<>();
    private final List<Thread> workers = new ArrayList<>();
    private Epoch current;
    private boolean closed;

    /** Creates a loader that normalizes on the host. */
    public DataLoader(Device device, Era5Dataset dataset, DistributedSampler sampler, int workers) {
        this(device, dataset, sampler, workers, NormalizationPlace.ON_HOST);
    }

    /**
     * Creates a loader, allocates its buffers and starts its threads.
     *
     * @param workers number of prefetching threads; 0 to read in the calling thread
     * @throws org.isobar.fault.UserException if the data set is smaller than one global batch
     */
    public DataLoader(Device device, Era5Dataset dataset, DistributedSampler sampler, int workers,
        NormalizationPlace normalizing) {
        dataset.requireBatch(sampler.globalBatch());
        assert sampler.samples() == dataset.size() : "sampler of another data set";
        this.dataset = dataset;
        ranges = device.ranges();
        this.sampler = sampler;
        pipeline = switch (normalizing) {
            case ON_HOST -> new BatchPipeline.OnHost(dataset);
            case ON_DEVICE -> new DeviceNormalization(device, dataset);
        };
        try {
            for (int i = 0; i < slots(workers, sampler.localBatch()); i++) {
                slots.add(new Batch(device, pipeline, dataset.config(), sampler.localBatch()));
            }
        } catch (RuntimeException noMemory) {
            slots.forEach(Batch::free);
            pipeline.close();
            throw noMemory;
        }
        schedule = new PrefetchSchedule(slots.size(), sampler.localBatch(), samplesAhead(workers));
        prefetcher = new PageCachePrefetcher(dataset, schedule);
        for (int i = 0; i < Math.min(workers, slots.size() * sampler.localBatch()); i++) { // more would be idle
            this.workers.add(Thread.ofPlatform().daemon().name("isobar-data-" + i).start(this::work));
        }
    }

    /**
     * Number of batches of {@code batch} samples that a loader with that many threads has buffers for: one in use, one
     * that is complete, and those that the threads fill meanwhile, each thread reading one sample. At most four, as a
     * sample can be large.
     */
    public static int slots(int workers, int batch) {
        return workers == 0 ? 1 : Math.min(2 + Math.ceilDiv(workers, batch), MOST_SLOTS);
    }

    /** Number of samples that the kernel reads ahead of the threads: at least a batch, and one for each thread. */
    private int samplesAhead(int workers) {
        long sampleBytes = dataset.config().input().bytes() + dataset.config().target().bytes();
        return (int) Math.max(PREFETCH_BYTES / sampleBytes, Math.max(sampler.localBatch(), workers));
    }

    /** Device memory that a loader of up to {@code channels} channels uses besides its batches, in bytes. */
    public static long statisticsBytes(NormalizationPlace normalizing, int channels) {
        return switch (normalizing) {
            case ON_HOST -> 0;
            case ON_DEVICE -> DeviceNormalization.bytes(channels);
        };
    }

    /** The data set that the samples come from. */
    public Era5Dataset dataset() {
        return dataset;
    }

    @Override
    public Optional<NonFiniteValue> firstNonFinite(long sample) {
        return dataset.firstNonFinite(sample);
    }

    @Override
    public int steps() {
        return sampler.steps();
    }

    /** Starts reading the batches of an epoch. It must be closed before the next one starts. */
    @Override
    public Epoch epoch(long number) {
        return epoch(number, 0);
    }

    /** Starts reading the batches of an epoch after its first {@code done} steps. */
    @Override
    public Epoch epoch(long number, int done) {
        if (current != null) {
            throw new IllegalStateException("the previous epoch has not been closed");
        }
        int[] samples = sampler.epoch(number);
        int before = done * sampler.microBatches();
        schedule.start(Arrays.copyOfRange(samples, before * sampler.localBatch(), samples.length));
        current = new Epoch(sampler.batches() - before);
        return current;
    }

    /** Iterates over the batches of one epoch. Closing it early drops the remaining batches. */
    public final class Epoch implements Batch.Epoch {
        private final int batches;
        private final Runnable release = this::release; // one object for all batches
        private int next;
        private boolean inUse;

        private Epoch(int batches) {
            this.batches = batches;
        }

        @Override
        public boolean hasNext() {
            return next < batches;
        }

        /**
         * Waits for the next batch and returns it. The previous batch must have been closed.
         *
         * @throws org.isobar.fault.UserException if one of its samples cannot be read
         */
        @Override
        public Batch next() {
            if (!hasNext()) {
                throw new NoSuchElementException("the epoch has no batch after its " + batches);
            }
            if (current != this) {
                throw new IllegalStateException("the epoch is closed");
            }
            if (inUse) {
                throw new IllegalStateException("batch " + (next - 1) + " has not been closed");
            }
            while (workers.isEmpty() && !schedule.isComplete(next)) {
                read(schedule.take(), prefetcher);
            }
            schedule.await(next);
            inUse = true;
            Batch batch = slots.get(next % slots.size());
            batch.open(release);
            next++;
            return batch;
        }

        private void release() {
            if (inUse) {
                inUse = false;
                schedule.release();
            }
        }

        /** Ends the epoch; waits for reads in progress. */
        @Override
        public void close() {
            if (current == this) {
                current = null;
                inUse = false;
                schedule.stop();
            }
        }
    }

    /** Stops the threads and frees the buffers. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        schedule.end();
        boolean ended = true;
        for (Thread worker : workers) {
            ended &= join(worker);
        }
        if (ended) { // otherwise a read hangs, for example in a network file system, and still writes to its buffer
            slots.forEach(Batch::free);
        }
        pipeline.close();
    }

    private static boolean join(Thread worker) {
        try {
            return worker.join(PATIENCE);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private void work() {
        PageCachePrefetcher own = new PageCachePrefetcher(dataset, schedule);
        for (int next = schedule.take(); next != PrefetchSchedule.NONE; next = schedule.take()) {
            read(next, own);
        }
    }

    private void read(int position, PageCachePrefetcher pages) {
        Throwable failure = null;
        try (ProfilerRanges.Range _ = ranges.open("sample " + schedule.sample(position) + " into slot "
                + schedule.slot(position))) {
            pages.begin(position);
            slots.get(schedule.slot(position)).fill(schedule.index(position), schedule.sample(position));
            pages.end();
        } catch (Throwable thrown) { // Epoch.next throws it
            failure = thrown;
        }
        schedule.finish(position, failure);
    }
}
