package org.isobar.data;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;

import org.isobar.device.Device;

/**
 * Batches of a data set in the order of a sampler, read ahead by a fixed number of threads into a fixed ring of
 * buffers. The order and the contents do not depend on the number of threads; with none the calling thread reads. An
 * epoch is used like this:
 * <pre>
 * try (DataLoader.Epoch epoch = loader.epoch(number)) {
 *     while (epoch.hasNext()) {
 *         try (Batch batch = epoch.next()) {
 *             ...
 *         }
 *     }
 * }
 * </pre>
 * One thread consumes; one epoch is open at a time. Close the loader before its data set and its device.
 */
public final class DataLoader implements AutoCloseable {
    private static final int MOST_SLOTS = 4;
    private static final long DISK_BYTES = 64 << 20; // that a disk has to read at a time: requests enough for any
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final Era5Dataset dataset;
    private final BatchPipeline feed;
    private final DistributedSampler sampler;
    private final PrefetchSchedule readAhead;
    private final PageCachePrefetcher disk; // of the calling thread, where that reads
    private final List<Batch> slots = new ArrayList<>();
    private final List<Thread> workers = new ArrayList<>();
    private Epoch current;
    private boolean closed;

    /** A loader that normalizes on the host. */
    public DataLoader(Device device, Era5Dataset dataset, DistributedSampler sampler, int workers) {
        this(device, dataset, sampler, workers, NormalizationPlace.ON_HOST);
    }

    /**
     * A loader with its buffers and threads.
     *
     * @param workers threads that read ahead; 0 to read in the calling thread
     * @throws org.isobar.fault.UserException if the data set is smaller than one global batch
     */
    public DataLoader(Device device, Era5Dataset dataset, DistributedSampler sampler, int workers,
        NormalizationPlace normalizing) {
        dataset.requireBatch(sampler.globalBatch());
        assert sampler.samples() == dataset.size() : "sampler of another data set";
        this.dataset = dataset;
        this.sampler = sampler;
        feed = switch (normalizing) {
            case ON_HOST -> new HostNormalization(dataset);
            case ON_DEVICE -> new DeviceNormalization(device, dataset);
        };
        try {
            for (int i = 0; i < slots(workers, sampler.localBatch()); i++) {
                slots.add(new Batch(device, feed, dataset.config(), sampler.localBatch()));
            }
        } catch (RuntimeException noMemory) {
            slots.forEach(Batch::free);
            feed.close();
            throw noMemory;
        }
        readAhead = new PrefetchSchedule(slots.size(), sampler.localBatch(), ahead(workers));
        disk = new PageCachePrefetcher(dataset, readAhead);
        for (int i = 0; i < Math.min(workers, slots.size() * sampler.localBatch()); i++) { // more would find no work
            this.workers.add(Thread.ofPlatform().daemon().name("isobar-data-" + i).start(this::work));
        }
    }

    /**
     * Batches of {@code batch} samples for which a loader with that many threads has buffers: one in use, one that is
     * whole, and those that the threads read into, a sample each, meanwhile. Four at most: a sample can be large.
     */
    public static int slots(int workers, int batch) {
        return workers == 0 ? 1 : Math.min(2 + Math.ceilDiv(workers, batch), MOST_SLOTS);
    }

    /** Samples that the disk reads ahead of the threads: a batch at least, and one for each thread. */
    private int ahead(int workers) {
        long sampleBytes = dataset.config().input().bytes() + dataset.config().target().bytes();
        return (int) Math.max(DISK_BYTES / sampleBytes, Math.max(sampler.localBatch(), workers));
    }

    /** Bytes of the device that a loader takes besides its batches, of up to {@code channels} channels. */
    public static long statisticsBytes(NormalizationPlace normalizing, int channels) {
        return switch (normalizing) {
            case ON_HOST -> 0;
            case ON_DEVICE -> DeviceNormalization.bytes(channels);
        };
    }

    /** Where the samples come from. */
    public Era5Dataset dataset() {
        return dataset;
    }

    /** Steps of an epoch. */
    public int steps() {
        return sampler.steps();
    }

    /** Starts to read the batches of an epoch. Close it before the next. */
    public Epoch epoch(long number) {
        return epoch(number, 0);
    }

    /** The same without its first {@code done} steps. */
    public Epoch epoch(long number, int done) {
        if (current != null) {
            throw new IllegalStateException("the epoch before has not been closed");
        }
        int[] samples = sampler.epoch(number);
        readAhead.start(Arrays.copyOfRange(samples, done * sampler.localBatch(), samples.length));
        current = new Epoch(steps() - done);
        return current;
    }

    /** The batches of one epoch in order. Closing it early drops those that are left. */
    public final class Epoch implements AutoCloseable {
        private final int steps;
        private final Runnable release = this::release; // made once for all batches
        private int step;
        private boolean inUse;

        private Epoch(int steps) {
            this.steps = steps;
        }

        /** Whether there is another batch. */
        public boolean hasNext() {
            return step < steps;
        }

        /**
         * The next batch, when it has been read. The one before must have been closed.
         *
         * @throws org.isobar.fault.UserException if one of its samples cannot be read
         */
        public Batch next() {
            if (!hasNext()) {
                throw new NoSuchElementException("the epoch has " + steps + " steps left");
            }
            if (current != this) {
                throw new IllegalStateException("the epoch is closed");
            }
            if (inUse) {
                throw new IllegalStateException("batch " + (step - 1) + " has not been closed");
            }
            while (workers.isEmpty() && !readAhead.whole(step)) {
                read(readAhead.take(), disk);
            }
            readAhead.await(step);
            inUse = true;
            Batch batch = slots.get(step % slots.size());
            batch.open(release);
            step++;
            return batch;
        }

        private void release() {
            if (inUse) {
                inUse = false;
                readAhead.release();
            }
        }

        /** Ends the epoch; waits for reads that are under way. */
        @Override
        public void close() {
            if (current == this) {
                current = null;
                inUse = false;
                readAhead.stop();
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
        readAhead.end();
        boolean ended = true;
        for (Thread worker : workers) {
            ended &= join(worker);
        }
        if (ended) { // else a read hangs, in a network file system say: leave it its memory
            slots.forEach(Batch::free);
        }
        feed.close();
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
        PageCachePrefetcher ahead = new PageCachePrefetcher(dataset, readAhead);
        for (int next = readAhead.take(); next != PrefetchSchedule.NONE; next = readAhead.take()) {
            read(next, ahead);
        }
    }

    private void read(int position, PageCachePrefetcher ahead) {
        Throwable failure = null;
        try {
            ahead.begin(position);
            slots.get(readAhead.slot(position)).fill(readAhead.index(position), readAhead.sample(position));
            ahead.end();
        } catch (Throwable thrown) { // handed to the consumer
            failure = thrown;
        }
        readAhead.finish(position, failure);
    }
}
