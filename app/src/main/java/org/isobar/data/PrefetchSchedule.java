package org.isobar.data;

import java.util.Arrays;

/**
 * Distributes the samples of an epoch among prefetching threads and tracks which batches are complete. Samples are
 * handed out in order, as positions in that order, at most {@code slots} batches ahead of what the consumer has
 * released. Several threads may read one batch. Positions further ahead are handed out for the page cache. The class is
 * a monitor: every method that reads or writes state that changes within an epoch is synchronized.
 */
final class PrefetchSchedule {
    /** Returned by {@link #take} and {@link #nextToPrefetch} if there is no position. */
    static final int NONE = -1;

    private final int batch;
    private final int ahead; // samples that the page cache is ahead of the threads
    private final int[] missing; // samples not yet read, for each slot
    private final Throwable[] failures; // of the batch in each slot
    private final int[] failed; // index of the failed sample in its batch
    private int[] order = {};
    private int next; // position in order of the next sample to read
    private int prefetched; // position in order of the next sample to prefetch
    private int released; // batches of this epoch that the consumer has released
    private int running; // samples that are being read
    private boolean ended;

    PrefetchSchedule(int slots, int batch, int ahead) {
        this.batch = batch;
        this.ahead = ahead;
        missing = new int[slots];
        failures = new Throwable[slots];
        failed = new int[slots];
    }

    /** Starts an epoch: {@code samples} in order, {@code batch} for each step. */
    synchronized void start(int[] samples) {
        stop();
        order = samples;
        next = 0;
        prefetched = 0;
        released = 0;
        Arrays.fill(missing, batch);
        Arrays.fill(failures, null);
        notifyAll();
    }

    /** Waits for a free slot and returns the position of the next sample to read; NONE after {@link #end}. */
    synchronized int take() {
        while (!ended && (next == order.length || next / batch >= released + missing.length)) {
            pause();
        }
        if (ended) {
            return NONE;
        }
        running++;
        return next++;
    }

    /**
     * The position of the next sample to prefetch while the sample at {@code position} is read; NONE if enough samples
     * were prefetched.
     */
    synchronized int nextToPrefetch(int position) {
        prefetched = Math.max(prefetched, position);
        return prefetched < Math.min(order.length, position + 1 + ahead) ? prefetched++ : NONE;
    }

    /**
     * The data set's number of the sample at a position. The calling thread must have taken that position and not
     * finished it, or have received it from {@link #nextToPrefetch} meanwhile. Needs no lock: the thread obtained the
     * position under the lock after {@link #start} had written the order, and the order is not replaced before
     * {@link #stop} has seen that no sample is being read.
     */
    int sample(int position) {
        return order[position];
    }

    /** The slot that the sample at a position is read into. */
    int slot(int position) {
        return position / batch % missing.length;
    }

    /** The index in its batch of the sample at a position. */
    int index(int position) {
        return position % batch;
    }

    /**
     * Reports a sample as read, or as failed. Of several failures in a batch the one of the smallest index is kept,
     * whatever order they are reported in.
     */
    synchronized void finish(int position, Throwable failure) {
        int slot = slot(position);
        if (failure != null && (failures[slot] == null || index(position) < failed[slot])) {
            failures[slot] = failure;
            failed[slot] = index(position);
        }
        running--;
        missing[slot]--;
        notifyAll();
    }

    /** Whether all samples of a step's batch have been read. */
    synchronized boolean isComplete(int step) {
        return missing[step % missing.length] == 0;
    }

    /** Waits until the batch of a step is complete; rethrows a failure to read one of its samples. */
    synchronized void await(int step) {
        int slot = step % missing.length;
        while (!ended && missing[slot] > 0) {
            pause();
        }
        if (ended) {
            throw new IllegalStateException("the loader is closed");
        }
        switch (failures[slot]) {
            case null -> { }
            case Error error -> throw error;
            case RuntimeException exception -> throw exception;
            case Throwable other -> throw new AssertionError("reading throws no checked exceptions", other);
        }
    }

    /** Releases the oldest batch: its slot may be filled again. */
    synchronized void release() {
        int slot = released % missing.length;
        missing[slot] = batch;
        failures[slot] = null;
        released++;
        notifyAll();
    }

    /** Drops the rest of the epoch and waits for reads in progress. */
    synchronized void stop() {
        next = order.length;
        while (running > 0) {
            pause();
        }
    }

    /** Ends all waiting, now and in later calls. */
    synchronized void end() {
        ended = true;
        notifyAll();
    }

    private void pause() {
        try {
            wait();
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException("interrupted while loading data", interrupted);
        }
    }
}
