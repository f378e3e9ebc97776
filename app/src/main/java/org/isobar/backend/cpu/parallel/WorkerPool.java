package org.isobar.backend.cpu.parallel;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;

import org.isobar.device.PendingWork;

/**
 * A fixed number of threads that run the tasks of one operation at a time, including the calling thread. Which thread
 * runs which task varies. Tasks are cut by tensor shape alone, so results do not depend on the threads.
 *
 * <p>An idle thread spins briefly before it parks: the next operation usually follows within microseconds, while waking
 * a thread takes tens of microseconds. The calling thread does not wait for parked threads. Threads that would spin run
 * tasks of the background instead, if there are any (see {@link #start}).
 */
public final class WorkerPool implements AutoCloseable {
    /** How long an idle thread spins before it parks. */
    private static final long SPIN_NANOS = 50_000;
    private static final int SPINS_BETWEEN_CLOCK_READS = 32;

    /** A job without tasks. As the current job, it ends the threads. */
    private final Job end = new Job(0, (worker, task) -> { }, 1);
    private final Thread[] helpers;
    private volatile Job current;
    private volatile Job background = end;

    /** Body of an operation, run once per task index. */
    @FunctionalInterface
    public interface Task {
        /**
         * Runs one task.
         *
         * @param worker index of the worker, below {@link #threads}; a worker runs one task at a time
         * @param task   index of the task
         */
        void run(int worker, int task);
    }

    /** Creates a pool of {@code threads} threads, including the calling thread. */
    public WorkerPool(int threads) {
        helpers = new Thread[threads - 1];
        for (int i = 0; i < helpers.length; i++) {
            int worker = i + 1;
            helpers[i] = Thread.ofPlatform().daemon().name("isobar-cpu-" + worker).start(() -> serve(worker));
        }
    }

    /** Number of threads, including the calling thread. */
    public int threads() {
        return helpers.length + 1;
    }

    /** Runs {@code body} for each of 0 .. tasks-1 and returns when all are done. Rethrows the first failure. */
    public void run(int tasks, IntConsumer body) {
        run(tasks, (worker, task) -> body.accept(task));
    }

    /**
     * Runs {@code body} for each of 0 .. tasks-1 and returns when all are done. Rethrows the first failure. Tasks start
     * in index order, so a task may wait for a task with a lower index.
     */
    public void run(int tasks, Task body) {
        run(new Job(tasks, body, 1));
    }

    /**
     * Runs tasks like {@link #run(int, Task)}, for tasks that do not wait for each other. Each worker starts with its
     * own range of tasks. Operations with equally many tasks have equal ranges, so the worker's cache still holds what
     * it wrote earlier. A worker that has finished its range takes tasks from the other ranges.
     */
    public void runApart(int tasks, Task body) {
        run(new Job(tasks, body, Math.min(tasks, threads())));
    }

    private void run(Job job) {
        if (helpers.length > 0 && job.tasks > 1) {
            current = job;
            wakeHelpers();
        }
        finish(job);
        job.rethrow();
    }

    /**
     * Starts tasks in the background. Threads run them when they would otherwise wait for the tasks of an operation, or
     * for the next operation. {@link PendingWork#await} runs what is left; it, or {@link PendingWork#cancel}, must be
     * called by the thread that runs the operations, and before the next call of this method. Tasks of 10 to 30
     * microseconds hardly delay operations.
     */
    public PendingWork start(int tasks, IntConsumer body) {
        Job job = new Job(tasks, (worker, task) -> body.accept(task), 1);
        background = job;
        wakeHelpers();
        return new PendingWork() {
            @Override
            public void await() {
                finish(job);
                background = end;
                job.rethrow();
            }

            @Override
            public void cancel() {
                job.drop();
                WorkerPool.this.await(0, job::isDone);
                background = end;
            }
        };
    }

    private void finish(Job job) {
        job.work(0);
        await(0, job::isDone);
    }

    private void serve(int worker) {
        Job seen = null;
        while (seen != end) {
            Job last = seen;
            await(worker, () -> current != last);
            seen = current;
            seen.work(worker);
        }
    }

    /**
     * Waits for a condition whose change is announced by an unpark. Runs tasks of the background meanwhile; when there
     * are none, spins, then parks.
     */
    private void await(int worker, BooleanSupplier condition) {
        boolean interrupted = false; // cleared because it prevents parking; restored below
        long deadline = System.nanoTime() + SPIN_NANOS;
        for (int spins = 1; !condition.getAsBoolean(); spins++) {
            if (background.workOnce(worker)) {
                deadline = System.nanoTime() + SPIN_NANOS;
            } else if (spins % SPINS_BETWEEN_CLOCK_READS > 0 || System.nanoTime() < deadline) {
                Thread.onSpinWait();
            } else {
                LockSupport.park();
                interrupted |= Thread.interrupted();
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void wakeHelpers() {
        for (Thread helper : helpers) {
            LockSupport.unpark(helper); // nearly free while the thread is awake
        }
    }

    /** Stops the threads and waits until they have ended. */
    @Override
    public void close() {
        current = end;
        wakeHelpers();
        boolean interrupted = false;
        for (Thread helper : helpers) {
            while (helper.isAlive()) {
                try {
                    helper.join();
                } catch (InterruptedException interruption) { // keep waiting: the threads end soon
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** The tasks of one operation. A thread that joins after all tasks were taken does nothing. */
    private static final class Job {
        private static final int LINE = 16; // ints per cache line; avoids false sharing between workers
        private final Thread caller = Thread.currentThread();
        private final Task body;
        private final int tasks;
        private final int ranges;
        /** Index of the next task of each range. */
        private final AtomicIntegerArray next;
        private final AtomicInteger unfinished;
        private final AtomicReference<Throwable> failure = new AtomicReference<>();

        Job(int tasks, Task body, int ranges) {
            this.tasks = tasks;
            this.body = body;
            this.ranges = ranges;
            next = new AtomicIntegerArray(ranges * LINE);
            for (int range = 1; range < ranges; range++) {
                next.setPlain(range * LINE, first(range));
            }
            unfinished = new AtomicInteger(tasks);
        }

        private int first(int range) {
            return (int) ((long) tasks * range / ranges);
        }

        void work(int worker) {
            for (int i = 0; i < ranges; i++) {
                int range = (worker + i) % ranges;
                int end = first(range + 1);
                for (int task = next.getAndIncrement(range * LINE); task < end;
                    task = next.getAndIncrement(range * LINE)) {
                    run(worker, task);
                }
            }
        }

        /** Runs one task of the only range; returns whether there was one. */
        boolean workOnce(int worker) {
            int task = next.get(0) < tasks ? next.getAndIncrement(0) : tasks;
            if (task < tasks) {
                run(worker, task);
            }
            return task < tasks;
        }

        /** Takes the tasks of the only range that no thread has taken, without running them. */
        void drop() {
            int taken = Math.min(next.getAndSet(0, tasks), tasks);
            unfinished.addAndGet(taken - tasks);
        }

        private void run(int worker, int task) {
            try {
                body.run(worker, task); // runs even after a failure: another task may wait for this one
            } catch (Throwable thrown) { // rethrown by the caller
                failure.compareAndSet(null, thrown);
            }
            if (unfinished.decrementAndGet() == 0) {
                LockSupport.unpark(caller);
            }
        }

        boolean isDone() {
            return unfinished.get() == 0;
        }

        void rethrow() {
            switch (failure.get()) {
                case null -> { }
                case RuntimeException exception -> throw exception;
                case Error error -> throw error;
                case Throwable other -> throw new IllegalStateException("an operation failed", other);
            }
        }
    }
}
