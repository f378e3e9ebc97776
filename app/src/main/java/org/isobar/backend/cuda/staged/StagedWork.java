package org.isobar.backend.cuda.staged;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Work;
import org.isobar.distributed.job.FailureDetector;

/** An operation on its way through the host's memory. */
final class StagedWork implements Work {
    private final String place;
    private final CompletableFuture<Work> outcome;
    private final FailureDetector watch;
    private final Runnable follow;

    /**
     * An operation that was issued.
     *
     * @param place   names rank, group and operation
     * @param outcome what is left for the host to do when the GPU's part is done: to send, or nothing
     * @param watch   told who waits
     * @param follow  makes the GPU's later operations wait for the result
     */
    StagedWork(String place, CompletableFuture<Work> outcome, FailureDetector watch, Runnable follow) {
        this.place = place;
        this.outcome = outcome;
        this.watch = watch;
        this.follow = follow;
    }

    /** The host waits until the result is on its way to the GPU; there, what is issued from now on comes after it. */
    @Override
    public void await() {
        watch.waiting(place);
        try {
            outcome.get().await();
        } catch (ExecutionException failed) {
            throw failure(failed.getCause());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new CommunicationException(place + ": interrupted while waiting", interrupted);
        } finally {
            watch.resumed();
        }
        follow.run();
    }

    /** A failure of the job gets a new exception, so that its trace shows who waited; one of the device is its own. */
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
