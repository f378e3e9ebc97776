package org.isobar.backend.cuda.nccl;

import static org.bytedeco.cuda.global.cudart.cuMemcpyHtoD;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

import org.bytedeco.javacpp.LongPointer;
import org.isobar.backend.cuda.driver.Cuda;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.driver.CudaLibraries;
import org.isobar.backend.cuda.driver.DeviceMemory;
import org.isobar.backend.cuda.ops.GpuResources;
import org.isobar.backend.host.CollectiveMismatchDetector;
import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.CollectiveSequence;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.distributed.job.FailureDetector;
import org.isobar.distributed.job.Job;
import org.isobar.tensor.Tensor;

/**
 * Collectives between GPUs over NCCL, on a stream of their own. The host waits for none of them but a barrier: tensors
 * are ordered by events ({@link NcclStreamOrder}), so all of it can be captured in a CUDA graph, except for barriers.
 *
 * <p>NCCL alone would wait for a lost peer for ever. The job's {@link FailureDetector} notices those that have died or
 * are stopped, a {@link CollectiveMismatchDetector} those that issue something else; either way the operations under
 * way are aborted, and whoever waits for the GPU hears why.
 */
public final class NcclCommunicator implements Communicator {
    private static final long ASK_NANOS = 10_000_000;
    private static final long PAUSE_NANOS = 50_000;
    private static final int FLAG_BYTES = Float.BYTES;

    private final GpuResources stack;
    private final Job job;
    private final ProcessGroup group;
    private final CollectiveMismatchDetector roll;
    private final NcclGroup nccl;
    private final NcclStreamOrder traffic;
    private final CollectiveSequence operations;
    private final DeviceMemory flag;
    private final Runnable guard = this::check;
    private final Supplier<Optional<String>> place = this::waiting;
    private NcclWork together; // while several are issued as one
    private long asked;
    private volatile String failure;
    private final CompletableFuture<Void> end = new CompletableFuture<>();
    private volatile boolean closed;

    private NcclCommunicator(GpuResources stack, Job job, ProcessGroup group, CollectiveMismatchDetector roll,
        NcclGroup nccl) {
        this.stack = stack;
        this.job = job;
        this.group = group;
        this.roll = roll;
        this.nccl = nccl;
        traffic = new NcclStreamOrder(stack.compute(), nccl.stream(), job.watch()::progressed);
        operations = new CollectiveSequence(group);
        flag = new DeviceMemory(stack.gpu(), "a barrier", FLAG_BYTES);
        try (LongPointer zero = new LongPointer(1)) {
            Cuda.check(cuMemcpyHtoD(flag.address(), zero.put(0), FLAG_BYTES), "cuMemcpyHtoD");
        }
    }

    /**
     * Connects this rank with the others of {@code group}, which do the same.
     *
     * @throws org.isobar.fault.UserException if NCCL is missing, or ranks share a GPU
     * @throws CommunicationException         if one of them cannot be reached
     */
    public static NcclCommunicator open(GpuResources stack, Job job, ProcessGroup group) {
        CudaLibraries.loadNccl();
        CollectiveMismatchDetector roll = new CollectiveMismatchDetector(job, group);
        try {
            NcclGroup nccl = NcclBootstrap.join(stack.gpu(), job, group, roll, System.getenv());
            NcclCommunicator communicator = new NcclCommunicator(stack, job, group, roll, nccl);
            communicator.begin();
            return communicator;
        } catch (RuntimeException failed) {
            roll.close();
            throw failed;
        }
    }

    private void begin() {
        roll.begin(this::collapse);
        stack.waits().add(guard);
        stack.waits().tell(job, place);
        job.watch().onFailure(() -> job.watch().failure().ifPresent(this::stop));
    }

    @Override
    public ProcessGroup group() {
        return group;
    }

    @Override
    public Work allReduce(Tensor tensor, Reduction reduction) {
        return issue(operations.allReduce(tensor, scalable(reduction)), tensor.address(), tensor.address());
    }

    @Override
    public Work allGather(Tensor out, Tensor in, long... sizes) {
        return issue(operations.allGather(out, in, sizes), out.address(), in.address());
    }

    @Override
    public Work reduceScatter(Tensor out, Tensor in, Reduction reduction, long... sizes) {
        return issue(operations.reduceScatter(out, in, scalable(reduction), sizes), out.address(), in.address());
    }

    @Override
    public Work broadcast(Tensor tensor, int root) {
        return issue(operations.broadcast(tensor, root), tensor.address(), tensor.address());
    }

    @Override
    public Work send(Tensor tensor, int peer) {
        return issue(operations.send(tensor, peer), tensor.address(), tensor.address());
    }

    @Override
    public Work receive(Tensor tensor, int peer) {
        return issue(operations.receive(tensor, peer), tensor.address(), tensor.address());
    }

    /** Comes after all that was issued to the GPU; its {@link Work#await} keeps the host. */
    @Override
    public Work barrier() {
        if (stack.compute().isCapturing()) {
            throw new IllegalStateException(group + ": a barrier cannot be captured in a CUDA graph, because the "
                + "host waits for it");
        }
        NcclWork work = issue(operations.barrier(), flag.address(), flag.address());
        return new Work() {
            @Override
            public void await() {
                refuseAfterFailure(work);
                NcclStreamOrder.Marks marks = work.marks();
                if (marks != null) {
                    stack.waits().until(marks.done());
                }
            }

            @Override
            public boolean done() {
                return work.done();
            }
        };
    }

    private static Reduction scalable(Reduction reduction) {
        if (reduction.kind() == Reduction.Kind.MAX && reduction.factor() != 1) {
            throw new IllegalArgumentException("NCCL cannot multiply a maximum by " + reduction.factor());
        }
        return reduction;
    }

    @Override
    public Work together(Runnable several) {
        NcclWork work = new NcclWork(this, traffic.begin());
        together = work;
        try {
            grouped(several);
        } catch (CudaException refused) {
            throw lost(work, refused);
        } finally {
            together = null;
        }
        traffic.end(work);
        return work;
    }

    private void grouped(Runnable several) {
        nccl.begin();
        try {
            several.run();
        } finally {
            nccl.end();
        }
    }

    private NcclWork issue(CollectiveCall operation, long out, long in) {
        if (failure != null) {
            throw new CommunicationException(operation.place(group) + ": not begun, because " + failure);
        }
        stack.gpu().makeCurrent();
        roll.announce(operation);
        if (together != null) {
            together.add(operation);
            nccl.issue(operation, out, in);
            return together;
        }
        NcclWork work = new NcclWork(this, traffic.begin());
        work.add(operation);
        try {
            nccl.issue(operation, out, in);
        } catch (CudaException refused) {
            throw lost(work, refused);
        }
        traffic.end(work);
        return work;
    }

    /** Lets what is computed from now on wait for {@code work}. */
    void await(NcclWork work) {
        refuseAfterFailure(work);
        traffic.follow(work);
    }

    private void refuseAfterFailure(NcclWork work) {
        if (failure != null) {
            throw new CommunicationException(work.place(group) + ": " + failure);
        }
    }

    /** Whether {@code work} has come to its end. */
    boolean done(NcclWork work) {
        return failure != null || traffic.done(work);
    }

    /** Where in the job {@code operation} is, or this rank if that is not known. */
    static String place(ProcessGroup group, CollectiveCall operation) {
        return operation == null ? "rank " + group.rank() + ", " + group : operation.place(group);
    }

    /** Where the GPU waits for other ranks. */
    private Optional<String> waiting() {
        return traffic.waiting().map(work -> work.place(group));
    }

    /** Throws if the job has failed, here or elsewhere: what the host waits for is not done then, or not right. */
    private void check() {
        long now = System.nanoTime();
        if (failure == null && now - asked > ASK_NANOS) {
            asked = now;
            nccl.error().ifPresent(error -> collapse(oldest(), new CudaException(error)));
        }
        if (failure != null) {
            throw new CommunicationException(oldest() + ": " + failure);
        }
    }

    private String oldest() {
        return traffic.oldest().map(work -> work.place(group)).orElse(place(group, null));
    }

    private CommunicationException lost(NcclWork work, CudaException refused) {
        collapse(work.place(group), refused);
        return new CommunicationException(work.place(group) + ": " + failure, refused);
    }

    private void collapse(CollectiveCall operation, Exception thrown) {
        collapse(place(group, operation), thrown);
    }

    /**
     * Ends this communicator, and the job with it. That ranks differ is this rank's own finding; a broken connection or
     * an error of NCCL has a cause that another rank may know better.
     */
    private void collapse(String where, Exception thrown) {
        FailureDetector watch = job.watch();
        Optional<String> verdict = thrown instanceof CommunicationException ? watch.failure() : watch.imminentFailure();
        String reason = verdict.orElse(thrown.getMessage());
        boolean first = refuse(reason);
        if (verdict.isEmpty() && (first || closed)) { // what shows while this closes is why it had to
            watch.fail(where + ": " + reason);
        }
        if (first) {
            abort(); // after the others were told: they would blame this rank
        }
    }

    private void stop(String reason) {
        if (refuse(reason)) {
            abort();
        }
    }

    private synchronized boolean refuse(String reason) {
        if (failure != null) {
            return false;
        }
        failure = reason;
        return true;
    }

    /** On a thread of its own: it may have to wait until other communicators of this GPU are aborted too. */
    private void abort() {
        end("abort", nccl::abort);
    }

    private void end(String name, Runnable how) {
        Thread.ofPlatform().daemon().name("isobar-" + name + "-" + group.name() + "-" + group.rank()).start(() -> {
            how.run();
            end.complete(null);
        });
    }

    /** Waits for what is under way as long as for a peer's failure to show; what is not done by then is aborted. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        stack.waits().remove(guard);
        stack.waits().tellNoMore(place);
        Duration limit = job.limits().failure();
        if (refuse("the communicator was closed")) {
            if (idle(limit)) {
                roll.drain(limit);
                end("end", nccl::destroy);
            } else {
                abort();
            }
        }
        roll.close();
        if (ended(limit)) {
            traffic.close();
            nccl.close();
            flag.close();
        } else {
            stack.gpu().forsake();
        }
    }

    private boolean idle(Duration limit) {
        long deadline = System.nanoTime() + limit.toNanos();
        try {
            while (job.watch().failure().isEmpty() && System.nanoTime() < deadline) {
                if (traffic.idle()) {
                    return true;
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        } catch (CudaException failed) { // whoever met that first says so, or what the roll call is about to tell
            job.watch().imminentFailure();
        }
        return false;
    }

    private boolean ended(Duration limit) {
        try {
            end.get(limit.toNanos(), TimeUnit.NANOSECONDS);
            return true;
        } catch (TimeoutException | ExecutionException late) {
            return false;
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
