package org.isobar.backend.cuda.staged;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Work;
import org.isobar.distributed.job.FailureDetector;

/** The handle of a collective that goes through host memory. */
final class StagedWork implements Work {
    private final Supplier<String> place;
    private final CompletableFuture<Work> outcome;
    private final FailureDetector watch;
    private final Runnable follow;

    /**
     * A collective that was issued.
     *
     * @param place   names rank, group and operation
     * @param outcome completed when the GPU's part is done; its value is the host's remaining work, such as a send
     * @param watch   informed while this rank waits
     * @param follow  makes later operations of the GPU wait for the result
     */
    StagedWork(Supplier<String> place, CompletableFuture<Work> outcome, FailureDetector watch, Runnable follow) {
        this.place = place;
        this.outcome = outcome;
        this.watch = watch;
        this.follow = follow;
    }

    /** Blocks the host until the copy of the result to the GPU was issued. Later operations of the GPU wait for it. */
    @Override
    public void await() {
        watch.waiting(place);
        try {
            outcome.get().await();
        } catch (ExecutionException failed) {
            throw failure(failed.getCause());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new CommunicationException(place.get() + ": interrupted while waiting", interrupted);
        } finally {
            watch.resumed();
        }
        follow.run();
    }

    /** Wraps a failure of the job, so that the stack trace shows the waiting code. Other exceptions are kept. */
    private static RuntimeException failure(Throwable thrown) {
        return switch (thrown) {
            case CommunicationException lost -> new CommunicationException(lost.getMessage(), lost);
            case RuntimeException own -> own;
            default -> new IllegalStateException(thrown);
        };
    }

    @Override
    public boolean done() {
        return outcome.isDone() && (outcome.isCompletedExceptionally() || outcome.join().done());
    }
}
