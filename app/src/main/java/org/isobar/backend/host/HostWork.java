package org.isobar.backend.host;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Work;

/** An operation on its way through a communicator. */
final class HostWork implements Work {
    private final HostCommunicator communicator;
    private final HostCollective call;
    private final CompletableFuture<Void> outcome = new CompletableFuture<>();

    HostWork(HostCommunicator communicator, HostCollective call) {
        this.communicator = communicator;
        this.call = call;
    }

    /** What was asked for. */
    HostCollective call() {
        return call;
    }

    /** Where in the job this is: {@code rank 1, group tp [0, 1], operation 7 (all-reduce of 1000 F32)}. */
    String place() {
        return call.operation().place(communicator.group());
    }

    /** The operation is done with its tensors. */
    void succeed() {
        outcome.complete(null);
    }

    /** The operation has failed, unless it has succeeded. */
    void fail(String reason) {
        outcome.completeExceptionally(new CommunicationException(place() + ": " + reason));
    }

    @Override
    public void await() {
        if (!outcome.isDone()) {
            communicator.waiting(this);
        }
        try {
            awaitOutcome();
        } catch (ExecutionException failed) {
            communicator.quiesce(); // the caller may free the tensors now
            // A new exception, so that its trace shows who waited.
            throw new CommunicationException(failed.getCause().getMessage(), failed.getCause());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new CommunicationException(place() + ": interrupted while waiting", interrupted);
        } finally {
            communicator.resumed();
        }
    }

    private void awaitOutcome() throws InterruptedException, ExecutionException {
        try {
            outcome.get(communicator.limit().toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException late) {
            communicator.collapse(this, communicator.late());
            outcome.get();
        }
    }

    @Override
    public boolean done() {
        return outcome.isDone();
    }
}
