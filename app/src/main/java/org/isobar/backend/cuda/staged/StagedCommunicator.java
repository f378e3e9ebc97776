package org.isobar.backend.cuda.staged;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import org.isobar.backend.cuda.driver.CudaEvent;
import org.isobar.backend.cuda.ops.GpuResources;
import org.isobar.backend.cuda.staged.StagingBuffer.Part;
import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.distributed.CollectiveSequence;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.distributed.job.Job;
import org.isobar.tensor.Tensor;

/**
 * Collectives of GPU tensors through the host: a tensor is copied to pinned memory, goes through a communicator for
 * host memory, and is copied back. So ranks may share a GPU and need no NCCL; it is slow. Sums in half precision are
 * taken in single precision and rounded once.
 *
 * <p>A thread runs the collectives one after another, while the caller goes on and the GPU computes. {@link Work#await}
 * blocks the host until the copy of the result to the GPU was issued, so these collectives cannot be captured in a CUDA
 * graph.
 */
public final class StagedCommunicator implements Communicator {
    private static final Duration END = Duration.ofSeconds(10); // for the thread to end after close

    private final GpuResources stack;
    private final Job job;
    private final Communicator host;
    private final CollectiveSequence operations;
    private final StagingBuffer staging;
    private final ExecutorService thread;
    private final Runnable guard = this::check;
    private final List<PendingSend> pendingSends = new ArrayList<>();
    private List<StagedCollective> held; // the collectives of together(), until all are known
    private volatile Supplier<String> place;
    private volatile String failure;

    /**
     * A collective, with the parts of GPU tensors that go through host memory.
     *
     * @param in      copied from the GPU before the collective
     * @param out     copied to the GPU after it
     * @param ready   recorded behind all work issued to the GPU before
     * @param outcome result of {@link #carry}
     */
    private record StagedCollective(CollectiveCall operation, Optional<Part> in, Optional<Part> out, CudaEvent ready,
        CompletableFuture<Work> outcome) { }

    /** A send in flight, with the tensor that it reads. */
    private record PendingSend(Work sending, Tensor tensor) { }

    /** Uses {@code host} for the collectives, and closes it at its own close. */
    public StagedCommunicator(GpuResources stack, Job job, Communicator host) {
        this.stack = stack;
        this.job = job;
        this.host = host;
        operations = new CollectiveSequence(host.group());
        staging = new StagingBuffer(stack.gpu(), stack.waits());
        place = () -> "rank " + group().rank() + ", " + group();
        thread = Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon()
            .name("isobar-staged-" + group().name() + "-" + group().rank()).factory());
        stack.waits().addGuard(guard);
    }

    @Override
    public ProcessGroup group() {
        return host.group();
    }

    @Override
    public Work allReduce(Tensor tensor, Reduction reduction) {
        return issue(operations.allReduce(tensor, reduction), all(tensor), all(tensor));
    }

    @Override
    public Work allGather(Tensor out, Tensor in, long... sizes) {
        CollectiveCall operation = operations.allGather(out, in, sizes);
        return issue(operation, own(operation, in), all(out));
    }

    @Override
    public Work reduceScatter(Tensor out, Tensor in, Reduction reduction, long... sizes) {
        CollectiveCall operation = operations.reduceScatter(out, in, reduction, sizes);
        return issue(operation, all(in), own(operation, out));
    }

    @Override
    public Work broadcast(Tensor tensor, int root) {
        boolean here = root == group().index();
        return issue(operations.broadcast(tensor, root), here ? all(tensor) : Optional.empty(),
            here ? Optional.empty() : all(tensor));
    }

    @Override
    public Work send(Tensor tensor, int peer) {
        return issue(operations.send(tensor, peer), all(tensor), Optional.empty());
    }

    @Override
    public Work receive(Tensor tensor, int peer) {
        return issue(operations.receive(tensor, peer), Optional.empty(), all(tensor));
    }

    @Override
    public Work barrier() {
        return issue(operations.barrier(), Optional.empty(), Optional.empty());
    }

    @Override
    public Work together(Runnable several) {
        List<StagedCollective> collectives = new ArrayList<>();
        held = collectives;
        try {
            several.run();
        } finally {
            held = null;
        }
        collectives.stream().sorted(Comparator.comparing(StagedCollective::operation, CollectiveCall.GROUP_ORDER))
            .forEach(this::begin);
        return Work.all(collectives.stream().map(this::work).toList());
    }

    private static Optional<Part> all(Tensor tensor) {
        return Optional.of(new Part(tensor, 0));
    }

    /** This rank's part, or empty if it has no elements: callers then pass any tensor. */
    private Optional<Part> own(CollectiveCall operation, Tensor part) {
        return operation.sizes()[group().index()] == 0 ? Optional.empty()
            : Optional.of(new Part(part, start(operation)));
    }

    private long start(CollectiveCall operation) {
        return Arrays.stream(operation.sizes()).limit(group().index()).sum();
    }

    private Work issue(CollectiveCall operation, Optional<Part> in, Optional<Part> out) {
        verdict().ifPresent(reason -> {
            throw new CommunicationException(operation.place(group()) + ": not begun, because " + reason);
        });
        place = () -> operation.place(group());
        stack.gpu().makeCurrent();
        CudaEvent ready = new CudaEvent();
        stack.compute().record(ready);
        StagedCollective collective = new StagedCollective(operation, in, out, ready, new CompletableFuture<>());
        if (held == null) {
            begin(collective);
        } else {
            held.add(collective);
        }
        return work(collective);
    }

    private void begin(StagedCollective collective) {
        collective.outcome().completeAsync(() -> carry(collective), thread);
    }

    private Work work(StagedCollective collective) {
        return new StagedWork(() -> collective.operation().place(group()), collective.outcome(), job.watch(),
            this::follow);
    }

    /** Runs a collective on the thread of this communicator; returns the work left to do: a send in flight, or none. */
    private Work carry(StagedCollective collective) {
        try {
            check();
            stack.gpu().makeCurrent();
            CollectiveCall operation = collective.operation();
            Tensor staged = staging.fetch(operation.dtype(), operation.elements(), collective.in(), collective.ready());
            if (operation.kind() == Kind.SEND) {
                return send(operation, staged);
            }
            onHost(operation, staged).await();
            collective.out().ifPresent(staging::deliver);
            return Work.completed();
        } catch (CommunicationException lost) { // the rank that found the failure has told the job
            refuse(job.watch().failure().orElse(lost.getMessage()));
            throw lost;
        } catch (RuntimeException | Error own) {
            refuse(own.toString());
            job.watch().fail(collective.operation().place(group()) + ": " + own); // the other ranks would wait for ever
            throw own;
        } finally {
            stack.gpu().release(collective.ready()::close);
        }
    }

    /** Sends a copy, because the receiver may first send a tensor that needs the same staging buffer. */
    private Work send(CollectiveCall operation, Tensor staged) {
        Tensor copy = StagingBuffer.copy(staged);
        Work sending = host.send(copy, operation.root());
        pendingSends.removeIf(pending -> pending.sending().done());
        pendingSends.add(new PendingSend(sending, copy));
        return sending;
    }

    private Work onHost(CollectiveCall operation, Tensor staged) {
        return switch (operation.kind()) {
            case ALL_REDUCE -> host.allReduce(staged, operation.reduction());
            case ALL_GATHER -> host.allGather(staged, part(operation, staged), operation.sizes());
            case REDUCE_SCATTER -> host.reduceScatter(part(operation, staged), staged, operation.reduction(),
                operation.sizes());
            case BROADCAST -> host.broadcast(staged, operation.root());
            case RECEIVE -> host.receive(staged, operation.root());
            case BARRIER -> host.barrier();
            case SEND -> throw new AssertionError(operation);
        };
    }

    private Tensor part(CollectiveCall operation, Tensor staged) {
        long size = operation.sizes()[group().index()];
        return size == 0 ? staged : staged.slice(start(operation), size);
    }

    /** Makes later operations of the GPU wait for the latest result. */
    private void follow() {
        stack.gpu().makeCurrent();
        stack.compute().await(staging.landed());
    }

    /** Throws if the job has failed; the message names the latest collective of this rank. */
    private void check() {
        verdict().ifPresent(reason -> {
            throw new CommunicationException(place.get() + ": " + reason);
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
        host.close(); // ends the collectives in flight
        try {
            if (thread.awaitTermination(END.toNanos(), TimeUnit.NANOSECONDS)) {
                staging.close();
            } // else the GPU hangs, and its buffers stay allocated
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        } finally {
            stack.waits().removeGuard(guard);
        }
    }
}
