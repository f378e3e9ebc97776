package org.isobar.data;

import java.util.Arrays;

/**
 * The schedule that threads read ahead by: which sample is next, and when a batch is whole. Samples are handed out in
 * order, at most {@code slots} batches ahead of what the consumer has released; a batch may be read by several threads.
 * A monitor: every method is synchronized.
 */
final class ReadAhead {
    private final int batch;
    private final int[] missing; // samples that each slot still waits for
    private final Throwable[] failures; // of the batch in each slot
    private final int[] failed; // index of the sample in its batch that failed
    private int[] order = {};
    private int next; // position in order of the next sample to read
    private int released; // batches of this epoch that the consumer is done with
    private int running; // samples that are being read
    private boolean ended;

    ReadAhead(int slots, int batch) {
        this.batch = batch;
        missing = new int[slots];
        failures = new Throwable[slots];
        failed = new int[slots];
    }

    /** One sample to read: {@code sample} goes to place {@code index} of the batch of {@code step}. */
    record Task(int step, int index, int sample) { }

    /** Starts an epoch: {@code samples} in order, {@code batch} for each step. */
    synchronized void start(int[] samples) {
        stop();
        order = samples;
        next = 0;
        released = 0;
        Arrays.fill(missing, batch);
        Arrays.fill(failures, null);
        notifyAll();
    }

    /** The next sample to read, when its slot is free; null when there is nothing more to do, ever. */
    synchronized Task take() {
        while (!ended && (next == order.length || next / batch >= released + missing.length)) {
            pause();
        }
        if (ended) {
            return null;
        }
        running++;
        Task task = new Task(next / batch, next % batch, order[next]);
        next++;
        return task;
    }

    /** Reports a sample as read, or as failed. The first failure of a batch counts, whoever comes first. */
    synchronized void finish(Task task, Throwable failure) {
        int slot = task.step() % missing.length;
        if (failure != null && (failures[slot] == null || task.index() < failed[slot])) {
            failures[slot] = failure;
            failed[slot] = task.index();
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
