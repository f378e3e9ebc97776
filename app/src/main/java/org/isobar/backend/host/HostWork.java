package org.isobar.backend.host;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Work;

/** An operation that a host communicator runs. */
final class HostWork implements Work {
    private static final long POLL_NANOS = 500_000;

    private final HostCollective collective;
    private final ProcessGroup group;
    private final Duration limit;
    private final Listener listener;
    private final CompletableFuture<Void> outcome = new CompletableFuture<>();

    /** Work that fails if the caller waits for it for longer than {@code limit}. */
    HostWork(HostCollective collective, ProcessGroup group, Duration limit, Listener listener) {
        this.collective = collective;
        this.group = group;
        this.limit = limit;
        this.listener = listener;
    }

    /** The call and its memory. */
    HostCollective collective() {
        return collective;
    }

    /** Rank, group and call, for messages: {@code rank 1, group tp [0, 1], operation 7 (all-reduce of 1000 F32)}. */
    String place() {
        return collective.call().place(group);
    }

    /** Records that the operation has finished and no longer uses its tensors. */
    void succeed() {
        outcome.complete(null);
    }

    /** Records that the operation has failed, unless it has succeeded. */
    void fail(String reason) {
        outcome.completeExceptionally(new CommunicationException(place() + ": " + reason));
    }

    @Override
    public void await() {
        if (!outcome.isDone()) {
            listener.waiting(this);
            poll();
        }
        try {
            awaitOutcome();
        } catch (ExecutionException failed) {
            listener.failed(); // the caller may free the tensors after this
            // A new exception, so that its stack trace shows the thread that waited.
            throw new CommunicationException(failed.getCause().getMessage(), failed.getCause());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new CommunicationException(place() + ": interrupted while waiting", interrupted);
        } finally {
            listener.resumed();
        }
    }

    /** Waits a short time without sleeping: waking a thread may take as long as what is left of the operation. */
    private void poll() {
        long start = System.nanoTime();
        while (!outcome.isDone() && System.nanoTime() - start < POLL_NANOS) {
            Thread.yield();
        }
    }

    private void awaitOutcome() throws InterruptedException, ExecutionException {
        try {
            outcome.get(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException timeout) {
            listener.timedOut(this);
            outcome.get();
        }
    }

    @Override
    public boolean done() {
        return outcome.isDone();
    }

    /** The communicator's part in waiting for an operation. All methods run on the thread that awaits it. */
    interface Listener {
        /** The caller is about to wait for {@code work}. */
        void waiting(HostWork work);

        /** The caller no longer waits. */
        void resumed();

        /** The caller has waited for longer than the limit. Afterwards the work has an outcome. */
        void timedOut(HostWork work);

        /** The work has failed. Returns when no thread accesses the memory of its tensors any more. */
        void failed();
    }
}
