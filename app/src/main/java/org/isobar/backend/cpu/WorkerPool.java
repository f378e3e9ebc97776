package org.isobar.backend.cpu;

import java.util.concurrent.Phaser;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;

/**
 * A fixed number of threads that share out the tasks of one operation at a time. The calling thread takes part. Which
 * thread runs which task varies; the tasks themselves, cut by tensor shape, do not, and so neither do the results.
 */
final class WorkerPool implements AutoCloseable {
    private final Thread[] helpers;
    private final Phaser start;
    private final Phaser done;
    private final AtomicInteger next = new AtomicInteger();
    private volatile int tasks;
    private volatile IntConsumer body;
    private volatile Throwable failure;
    private volatile boolean closed;

    /** A pool of {@code threads} threads, the caller included. */
    WorkerPool(int threads) {
        start = new Phaser(threads);
        done = new Phaser(threads);
        helpers = new Thread[threads - 1];
        for (int i = 0; i < helpers.length; i++) {
            helpers[i] = Thread.ofPlatform().daemon().name("isobar-cpu-" + (i + 1)).start(this::serve);
        }
    }

    /** Number of threads, the caller included. */
    int threads() {
        return helpers.length + 1;
    }

    /** Runs {@code body} for each of 0 .. tasks-1 and returns when all have run; rethrows the first failure. */
    void run(int tasks, IntConsumer body) {
        if (helpers.length == 0 || tasks <= 1) {
            for (int task = 0; task < tasks; task++) {
                body.accept(task);
            }
            return;
        }
        this.tasks = tasks;
        this.body = body;
        failure = null;
        next.set(0);
        start.arriveAndAwaitAdvance();
        drain();
        done.arriveAndAwaitAdvance();
        Throwable thrown = failure;
        if (thrown != null) {
            throw new IllegalStateException("an operation failed on a worker thread", thrown);
        }
    }

    private void drain() {
        IntConsumer task = body;
        int count = tasks;
        try {
            for (int i = next.getAndIncrement(); i < count; i = next.getAndIncrement()) {
                task.accept(i);
            }
        } catch (Throwable thrown) { // handed to the caller of run
            failure = thrown;
        }
    }

    private void serve() {
        while (true) {
            start.arriveAndAwaitAdvance();
            if (closed) {
                return;
            }
            drain();
            done.arriveAndAwaitAdvance();
        }
    }

    /** Ends the threads. */
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            start.arriveAndAwaitAdvance();
            for (Thread helper : helpers) {
                try {
                    helper.join();
                } catch (InterruptedException interrupted) {
                    Thread.currentThread().interrupt();
                    return;
                }
            }
        }
    }
}
