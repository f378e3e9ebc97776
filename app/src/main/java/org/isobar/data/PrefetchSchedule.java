package org.isobar.data;

import java.util.Arrays;

/**
 * The schedule that threads read ahead by: which sample is next, and when a batch is whole. Samples are handed out in
 * order, as positions in it, at most {@code slots} batches ahead of what the consumer has released; a batch may be read
 * by several threads. Further samples are handed out for the disk to begin with. A monitor: every method that reads or
 * writes what changes within an epoch is synchronized.
 */
final class PrefetchSchedule {
    /** What {@link #take} and {@link #toAskFor} return for no position. */
    static final int NONE = -1;

    private final int batch;
    private final int ahead; // samples that the disk is ahead of the threads
    private final int[] missing; // samples that each slot still waits for
    private final Throwable[] failures; // of the batch in each slot
    private final int[] failed; // index of the sample in its batch that failed
    private int[] order = {};
    private int next; // position in order of the next sample to read
    private int asked; // position in order of the next sample to ask the disk for
    private int released; // batches of this epoch that the consumer is done with
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
        asked = 0;
        released = 0;
        Arrays.fill(missing, batch);
        Arrays.fill(failures, null);
        notifyAll();
    }

    /** The position of the next sample to read, when its slot is free; NONE when there is nothing to do, ever. */
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

    /** Position of the next sample to ask the disk for, when that at {@code position} is read; NONE if none is due. */
    synchronized int toAskFor(int position) {
        asked = Math.max(asked, position);
        return asked < Math.min(order.length, position + 1 + ahead) ? asked++ : NONE;
    }

    /**
     * Number of the sample at a position that the calling thread has taken and not finished, or was told to ask the
     * disk for meanwhile. Needs no lock: the thread had it when it was given the position, after {@link #start} had
     * written the order, which is not replaced before {@link #stop} has seen that no sample is being read.
     */
    int sample(int position) {
        return order[position];
    }

    /** The slot that the sample at a position goes to. */
    int slot(int position) {
        return position / batch % missing.length;
    }

    /** Its place in the batch there. */
    int index(int position) {
        return position % batch;
    }

    /** Reports a sample as read, or as failed. The first failure of a batch counts, whoever comes first. */
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

    /** Whether the batch of a step has been read. */
    synchronized boolean whole(int step) {
        return missing[step % missing.length] == 0;
    }

    /** Waits until the batch of a step is whole; rethrows what went wrong in it. */
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

    /** The consumer is done with the oldest batch: its slot may be filled again. */
    synchronized void release() {
        int slot = released % missing.length;
        missing[slot] = batch;
        failures[slot] = null;
        released++;
        notifyAll();
    }

    /** Drops what is left of the epoch and waits until nothing is being read. */
    synchronized void stop() {
        next = order.length;
        while (running > 0) {
            pause();
        }
    }

    /** Lets every waiting thread go, for good. */
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
