package org.isobar.backend.cuda.nccl;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.driver.HostWait;
import org.isobar.backend.host.CollectiveMismatchDetector;
import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.job.FailureDetector;
import org.isobar.distributed.job.Job;

/**
 * Ends one NCCL communicator, after a failure or at its close. It learns of failures from three sources: the job's
 * {@link FailureDetector} (a peer has died or is stopped), the {@link CollectiveMismatchDetector} (a peer has issued
 * another collective) and NCCL's asynchronous error. On a failure it tells the job and aborts the communicator, which
 * otherwise would wait for its peers for ever.
 */
final class NcclWatchdog {
    private static final long ERROR_QUERY_NANOS = 10_000_000;
    private static final long PAUSE_NANOS = 50_000;

    private final Job job;
    private final ProcessGroup group;
    private final HostWait waits;
    private final CollectiveMismatchDetector detector;
    private final NcclComm comm;
    private final NcclStreamOrder order;
    private final Runnable guard = this::check;
    private final Supplier<Optional<String>> place = this::waiting;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private FailureDetector.Registration registration = () -> { };
    private long lastQuery;
    private volatile String failure;
    private volatile boolean closed;

    /** @param waits runs {@link #check} while the host waits for the GPU */
    NcclWatchdog(Job job, HostWait waits, CollectiveMismatchDetector detector, NcclComm comm, NcclStreamOrder order) {
        this.job = job;
        this.group = comm.group();
        this.waits = waits;
        this.detector = detector;
        this.comm = comm;
        this.order = order;
    }

    /** Starts to watch, before the first collective. */
    void start() {
        detector.begin((collective, thrown) -> fail(NcclOperation.place(group, collective), thrown));
        waits.addGuard(guard);
        waits.report(job, place);
        registration = job.watch().onFailure(() -> job.watch().failure().ifPresent(this::stop));
    }

    /** Whether the communicator has failed or been closed. */
    boolean failed() {
        return failure != null;
    }

    /**
     * Checks that collectives can be issued.
     *
     * @throws CommunicationException if the communicator has failed or been closed
     */
    void requireRunning(CollectiveCall collective) {
        if (failure != null) {
            throw new CommunicationException(collective.place(group) + ": not begun, because " + failure);
        }
    }

    /**
     * Checks that the result of an operation can still arrive.
     *
     * @throws CommunicationException if the communicator has failed or been closed
     */
    void requireRunning(NcclOperation operation) {
        if (failure != null) {
            throw new CommunicationException(operation.place(group) + ": " + failure);
        }
    }

    /** Ends the communicator because NCCL returned an error for {@code operation}; the caller throws the result. */
    CommunicationException refused(NcclOperation operation, CudaException error) {
        fail(operation.place(group), error);
        return new CommunicationException(operation.place(group) + ": " + failure, error);
    }

    /** The operation at which the GPU waits for other ranks. */
    private Optional<String> waiting() {
        return order.waiting().map(operation -> operation.place(group));
    }

    /** Throws if the job has failed, on this rank or another: the GPU's result then never arrives, or is wrong. */
    private void check() {
        long now = System.nanoTime();
        if (failure == null && now - lastQuery > ERROR_QUERY_NANOS) {
            lastQuery = now;
            comm.error().ifPresent(error -> fail(oldest(), new CudaException(error)));
        }
        if (failure != null) {
            throw new CommunicationException(oldest() + ": " + failure);
        }
    }

    private String oldest() {
        return order.oldest().map(operation -> operation.place(group)).orElse(NcclOperation.place(group, null));
    }

    /**
     * Fails the job and aborts the communicator. A {@link CommunicationException} says that ranks have issued different
     * collectives, which this rank knows best. A broken connection or an error of NCCL may have a cause that another
     * rank reports; that cause is preferred.
     */
    private void fail(String where, Exception thrown) {
        FailureDetector watch = job.watch();
        Optional<String> verdict = thrown instanceof CommunicationException ? watch.failure() : watch.imminentFailure();
        String reason = verdict.orElse(thrown.getMessage());
        boolean first = setFailure(reason);
        if (verdict.isEmpty() && (first || closed)) { // an error while closing is the cause of the close
            watch.fail(where + ": " + reason);
        }
        if (first) {
            abort(); // after the other ranks were told, which else would report this rank as the cause
        }
    }

    private void stop(String reason) {
        if (setFailure(reason)) {
            abort();
        }
    }

    private synchronized boolean setFailure(String reason) {
        if (failure != null) {
            return false;
        }
        failure = reason;
        return true;
    }

    /** Aborts on a new thread, because NCCL may wait until other communicators of this GPU are aborted too. */
    private void abort() {
        end("abort", comm::abort);
    }

    private void end(String name, Runnable how) {
        Thread.ofPlatform().daemon().name("isobar-" + name + "-" + group.name() + "-" + group.rank()).start(() -> {
            how.run();
            ended.complete(null);
        });
    }

    /** Whether {@link #close} has been called. */
    boolean closed() {
        return closed;
    }

    /**
     * Ends the communicator. Waits for operations in flight as long as for the failure of a peer, then aborts them.
     *
     * @return whether NCCL has ended the communicator in time; otherwise the GPU hangs
     */
    boolean close() {
        closed = true;
        waits.removeGuard(guard);
        waits.stopReporting(place);
        Duration limit = job.limits().failure();
        if (setFailure("the communicator was closed")) {
            if (awaitIdle(limit)) {
                detector.drain(limit);
                end("end", comm::destroy);
            } else {
                abort();
            }
        }
        detector.close();
        boolean inTime = awaitEnd(limit);
        registration.close();
        return inTime;
    }

    private boolean awaitIdle(Duration limit) {
        long deadline = System.nanoTime() + limit.toNanos();
        try {
            while (job.watch().failure().isEmpty() && System.nanoTime() < deadline) {
                if (order.idle()) {
                    return true;
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        } catch (CudaException failed) { // the thread that met the error first reports it
            job.watch().imminentFailure();
        }
        return false;
    }

    private boolean awaitEnd(Duration limit) {
        try {
            ended.get(limit.toNanos(), TimeUnit.NANOSECONDS);
            return true;
        } catch (TimeoutException | ExecutionException notEnded) {
            return false;
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
