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
 * Collectives between tensors of GPUs by way of the host: each is copied to pinned memory, goes through a communicator
 * of the host's memory, and is copied back. So ranks may share a GPU, and need no NCCL; it is slow. Sums of half
 * precision are taken in single precision, and rounded once.
 *
 * <p>A thread of its own runs the operations one after the other, while the caller goes on and the GPU computes.
 * {@link Work#await} keeps the host until the result is on its way back to the GPU: no CUDA graph can hold that.
 */
public final class StagedCommunicator implements Communicator {
    private static final Duration END = Duration.ofSeconds(10); // for a thread that nobody keeps waiting any more

    private final GpuResources stack;
    private final Job job;
    private final Communicator host;
    private final CollectiveSequence operations;
    private final StagingBuffer staging;
    private final ExecutorService thread;
    private final Runnable guard = this::check;
    private final List<Parcel> parcels = new ArrayList<>();
    private List<Passage> held; // while several are issued as one
    private volatile String place;
    private volatile String failure;

    /**
     * An operation, and what of the GPU's tensors passes through the host's memory.
     *
     * @param in      what is copied from the GPU before
     * @param out     what is copied to it afterwards
     * @param ready   stands for all that was issued to the GPU before
     * @param outcome what {@link #carry} comes to
     */
    private record Passage(CollectiveCall operation, Optional<Part> in, Optional<Part> out, CudaEvent ready,
        CompletableFuture<Work> outcome) { }

    /** A tensor that is being sent, kept until it is. */
    private record Parcel(Work sending, Tensor tensor) { }

    /** Carries on over {@code host}, which it closes at its end. */
    public StagedCommunicator(GpuResources stack, Job job, Communicator host) {
        this.stack = stack;
        this.job = job;
        this.host = host;
        operations = new CollectiveSequence(host.group());
        staging = new StagingBuffer(stack.gpu(), stack.waits());
        place = "rank " + group().rank() + ", " + group();
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
        List<Passage> passages = new ArrayList<>();
        held = passages;
        try {
            several.run();
        } finally {
            held = null;
        }
        passages.stream().sorted(Comparator.comparing(Passage::operation, CollectiveCall.GROUP_ORDER))
            .forEach(this::begin);
        return Work.all(passages.stream().map(this::work).toList());
    }

    private static Optional<Part> all(Tensor tensor) {
        return Optional.of(new Part(tensor, 0));
    }

    /** {@code part}, this rank's, unless it has no elements: then any tensor stands for it. */
    private Optional<Part> own(CollectiveCall operation, Tensor part) {
        return operation.sizes()[group().index()] == 0 ? Optional.empty()
            : Optional.of(new Part(part, start(operation)));
    }

    private long start(CollectiveCall operation) {
        return Arrays.stream(operation.sizes()).limit(group().index()).sum();
    }

    private Work issue(CollectiveCall operation, Optional<Part> in, Optional<Part> out) {
        String here = operation.place(group());
        verdict().ifPresent(reason -> {
            throw new CommunicationException(here + ": not begun, because " + reason);
        });
        place = here;
        stack.gpu().makeCurrent();
        CudaEvent ready = new CudaEvent();
        stack.compute().record(ready);
        Passage passage = new Passage(operation, in, out, ready, new CompletableFuture<>());
        if (held == null) {
            begin(passage);
        } else {
            held.add(passage);
        }
        return work(passage);
    }

    private void begin(Passage passage) {
        passage.outcome().completeAsync(() -> carry(passage), thread);
    }

    private Work work(Passage passage) {
        return new StagedWork(passage.operation().place(group()), passage.outcome(), job.watch(), this::follow);
    }

    /** On the thread of this communicator; returns what of the operation does not need the staged tensor any more. */
    private Work carry(Passage passage) {
        try {
            check();
            stack.gpu().makeCurrent();
            CollectiveCall operation = passage.operation();
            Tensor staged = staging.fetch(operation.dtype(), operation.elements(), passage.in(), passage.ready());
            if (operation.kind() == Kind.SEND) {
                return send(operation, staged);
            }
            onHost(operation, staged).await();
            passage.out().ifPresent(staging::deliver);
            return Work.completed();
        } catch (CommunicationException lost) { // whoever found it has told the others
            refuse(job.watch().failure().orElse(lost.getMessage()));
            throw lost;
        } catch (RuntimeException | Error own) {
            refuse(own.toString());
            job.watch().fail(passage.operation().place(group()) + ": " + own); // they must not be left waiting
            throw own;
        } finally {
            stack.gpu().release(passage.ready()::close);
        }
    }

    /** Sends a copy: the receiver may first send something that passes by way of the same place. */
    private Work send(CollectiveCall operation, Tensor staged) {
        Tensor copy = StagingBuffer.copy(staged);
        Work sending = host.send(copy, operation.root());
        parcels.removeIf(parcel -> parcel.sending().done());
        parcels.add(new Parcel(sending, copy));
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

    /** What the GPU is given from now on comes after the latest result. */
    private void follow() {
        stack.gpu().makeCurrent();
        stack.compute().await(staging.landed());
    }

    /** Ends what waits for this GPU when the job has failed; names what this rank has issued last. */
    private void check() {
        verdict().ifPresent(reason -> {
            throw new CommunicationException(place + ": " + reason);
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
            stack.waits().removeGuard(guard);
        }
    }
}
