package org.isobar.backend.cuda;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Job;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.tensor.Tensor;

/**
 * Collectives between tensors of GPUs by way of the host: each is copied to pinned memory, goes through a communicator
 * of the host's memory, and is copied back. So ranks may share a GPU, and need no NCCL; it is slow. Sums of half
 * precision are taken in single precision, and rounded once.
 *
 * <p>A thread of its own runs the operations one after the other, while the caller goes on and the GPU computes.
 * {@link Work#await} keeps the host until the result is on its way back to the GPU: no CUDA graph can hold that.
 */
final class StagedCommunicator implements Communicator {
    private static final Duration END = Duration.ofSeconds(10); // for a thread that nobody keeps waiting any more

    private final CudaStack stack;
    private final Job job;
    private final Communicator host;
    private final Staging staging;
    private final ExecutorService thread;
    private final Runnable guard = this::check;
    private final List<Parcel> parcels = new ArrayList<>();
    private volatile String failure;
    private long issued;

    /** A tensor that is being sent, kept until it is. */
    private record Parcel(Work sending, Tensor tensor) { }

    /** Carries on over {@code host}, which it closes at its end. */
    StagedCommunicator(CudaStack stack, Job job, Communicator host) {
        this.stack = stack;
        this.job = job;
        this.host = host;
        staging = new Staging(stack.gpu(), stack.waits());
        thread = Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon()
            .name("isobar-staged-" + group().name() + "-" + group().rank()).factory());
        stack.waits().add(guard);
    }

    @Override
    public ProcessGroup group() {
        return host.group();
    }

    @Override
    public Work allReduce(Tensor tensor, Reduction reduction) {
        return issue(Passage.allReduce(host, tensor, reduction));
    }

    @Override
    public Work allGather(Tensor out, Tensor in, long... sizes) {
        return issue(Passage.allGather(host, out, in, sizes.clone()));
    }

    @Override
    public Work reduceScatter(Tensor out, Tensor in, Reduction reduction, long... sizes) {
        return issue(Passage.reduceScatter(host, out, in, reduction, sizes.clone()));
    }

    @Override
    public Work broadcast(Tensor tensor, int root) {
        return issue(Passage.broadcast(host, tensor, root));
    }

    @Override
    public Work send(Tensor tensor, int peer) {
        return issue(Passage.send(group(), tensor, peer, staged -> {
            Tensor copy = Staging.copy(staged);
            Work sending = host.send(copy, peer);
            parcels.removeIf(parcel -> parcel.sending().done());
            parcels.add(new Parcel(sending, copy));
            return sending;
        }));
    }

    @Override
    public Work receive(Tensor tensor, int peer) {
        return issue(Passage.receive(host, tensor, peer));
    }

    @Override
    public Work barrier() {
        return issue(Passage.barrier(host));
    }

    private Work issue(Passage passage) {
        String place = this + ", operation " + issued++ + " (" + passage.what() + ")";
        verdict().ifPresent(reason -> {
            throw new CommunicationException(place + ": not begun, because " + reason);
        });
        stack.gpu().makeCurrent();
        CudaEvent ready = new CudaEvent();
        ready.record(stack.compute());
        return new StagedWork(place, CompletableFuture.supplyAsync(() -> carry(place, passage, ready), thread),
            job.watch(), this::follow);
    }

    /** On the thread of this communicator. */
    private Work carry(String place, Passage passage, CudaEvent ready) {
        try {
            check();
            stack.gpu().makeCurrent();
            Tensor staged = staging.fetch(passage.dtype(), passage.elements(), passage.in(), ready);
            Work left = passage.carry().apply(staged);
            passage.out().ifPresent(staging::deliver);
            return left;
        } catch (CommunicationException lost) { // whoever found it has told the others
            refuse(job.watch().failure().orElse(lost.getMessage()));
            throw lost;
        } catch (RuntimeException | Error own) {
            refuse(own.toString());
            job.watch().fail(place + ": " + own); // they must not be left waiting
            throw own;
        } finally {
            stack.gpu().release(ready::close);
        }
    }

    /** What the GPU is given from now on comes after the latest result. */
    private void follow() {
        stack.gpu().makeCurrent();
        stack.compute().await(staging.landed());
    }

    /** Ends what waits for this GPU, where the job has come to its end. */
    private void check() {
        verdict().ifPresent(reason -> {
            throw new CommunicationException(this + ": " + reason);
        });
    }

    private Optional<String> verdict() {
        return job.watch().failure().or(() -> Optional.ofNullable(failure));
    }

    private synchronized void refuse(String reason) {
        failure = failure == null ? reason : failure;
    }

    @Override
    public void close() {
        if (thread.isShutdown()) {
            return;
        }
        refuse("the communicator was closed");
        thread.shutdown();
        host.close(); // and so what is under way comes to its end
        try {
            if (thread.awaitTermination(END.toNanos(), TimeUnit.NANOSECONDS)) {
                staging.close();
            } // else the GPU hangs, and keeps what it may still touch
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        } finally {
            stack.waits().remove(guard);
        }
    }

    /** Names rank and group, as messages do. */
    @Override
    public String toString() {
        return "rank " + group().rank() + ", " + group();
    }
}
