package org.isobar.backend.cuda.nccl;

import static org.bytedeco.cuda.global.cudart.cuMemcpyHtoD;

import org.bytedeco.javacpp.LongPointer;
import org.isobar.backend.cuda.driver.Cuda;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.driver.CudaLibraries;
import org.isobar.backend.cuda.driver.DeviceMemory;
import org.isobar.backend.cuda.ops.GpuResources;
import org.isobar.backend.host.CollectiveMismatchDetector;
import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.CollectiveSequence;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.distributed.job.Job;
import org.isobar.tensor.Tensor;

/**
 * Collectives between GPUs over NCCL, on a stream of their own. Events order them with the compute stream
 * ({@link NcclStreamOrder}); the host waits for barriers only, so all other collectives can be captured in a CUDA
 * graph. {@link NcclWatchdog} ends the communicator when a rank fails.
 */
public final class NcclCommunicator implements Communicator {
    private static final int FLAG_BYTES = Float.BYTES;

    private final GpuResources stack;
    private final CollectiveMismatchDetector detector;
    private final NcclComm comm;
    private final NcclStreamOrder order;
    private final NcclWatchdog watchdog;
    private final CollectiveSequence sequence;
    private final DeviceMemory flag; // barriers reduce this element
    private NcclOperation together; // the operation of together(), while its collectives are issued

    private NcclCommunicator(GpuResources stack, Job job, CollectiveMismatchDetector detector, NcclComm comm) {
        this.stack = stack;
        this.detector = detector;
        this.comm = comm;
        order = new NcclStreamOrder(stack.compute(), comm.stream(), job.watch()::progressed);
        watchdog = new NcclWatchdog(job, stack.waits(), detector, comm, order);
        sequence = new CollectiveSequence(comm.group());
        flag = new DeviceMemory(stack.gpu(), "a barrier", FLAG_BYTES);
        try (LongPointer zero = new LongPointer(1)) {
            Cuda.check(cuMemcpyHtoD(flag.address(), zero.put(0), FLAG_BYTES), "cuMemcpyHtoD");
        }
    }

    /**
     * Connects this rank with the other ranks of {@code group}, which call this method too.
     *
     * @throws org.isobar.fault.UserException if NCCL is missing, or ranks share a GPU
     * @throws org.isobar.distributed.CommunicationException         if a rank cannot be reached
     */
    public static NcclCommunicator open(GpuResources stack, Job job, ProcessGroup group) {
        CudaLibraries.loadNccl();
        CollectiveMismatchDetector detector = new CollectiveMismatchDetector(job, group);
        try {
            NcclComm comm = NcclBootstrap.join(stack.gpu(), job, group, detector, System.getenv());
            NcclCommunicator communicator = new NcclCommunicator(stack, job, detector, comm);
            communicator.watchdog.start();
            return communicator;
        } catch (RuntimeException failed) {
            detector.close();
            throw failed;
        }
    }

    @Override
    public ProcessGroup group() {
        return comm.group();
    }

    @Override
    public Work allReduce(Tensor tensor, Reduction reduction) {
        return issue(sequence.allReduce(tensor, supported(reduction)), tensor.address(), tensor.address());
    }

    @Override
    public Work allGather(Tensor out, Tensor in, long... sizes) {
        return issue(sequence.allGather(out, in, sizes), out.address(), in.address());
    }

    @Override
    public Work reduceScatter(Tensor out, Tensor in, Reduction reduction, long... sizes) {
        return issue(sequence.reduceScatter(out, in, supported(reduction), sizes), out.address(), in.address());
    }

    @Override
    public Work broadcast(Tensor tensor, int root) {
        return issue(sequence.broadcast(tensor, root), tensor.address(), tensor.address());
    }

    @Override
    public Work send(Tensor tensor, int peer) {
        return issue(sequence.send(tensor, peer), tensor.address(), tensor.address());
    }

    @Override
    public Work receive(Tensor tensor, int peer) {
        return issue(sequence.receive(tensor, peer), tensor.address(), tensor.address());
    }

    /** Starts after all work issued to the GPU so far; {@link Work#await} blocks the host. */
    @Override
    public Work barrier() {
        if (stack.compute().isCapturing()) {
            throw new IllegalStateException(group() + ": a barrier cannot be captured in a CUDA graph, because the "
                + "host waits for it");
        }
        NcclWork work = issue(sequence.barrier(), flag.address(), flag.address());
        return new Work() {
            @Override
            public void await() {
                watchdog.requireRunning(work.operation());
                NcclEvents events = work.operation().events();
                if (events != null) {
                    stack.waits().until(events.done());
                }
            }

            @Override
            public boolean done() {
                return work.done();
            }
        };
    }

    private static Reduction supported(Reduction reduction) {
        if (reduction.kind() == Reduction.Kind.MAX && reduction.factor() != 1) {
            throw new IllegalArgumentException("NCCL cannot multiply a maximum by " + reduction.factor());
        }
        return reduction;
    }

    @Override
    public Work together(Runnable several) {
        NcclOperation operation = order.begin();
        together = operation;
        try {
            comm.group(several);
        } catch (CudaException error) {
            throw watchdog.refused(operation, error);
        } finally {
            together = null;
        }
        order.end(operation);
        return work(operation);
    }

    private NcclWork issue(CollectiveCall collective, long out, long in) {
        watchdog.requireRunning(collective);
        stack.gpu().makeCurrent();
        detector.announce(collective);
        if (together != null) {
            together.add(collective);
            comm.issue(collective, out, in);
            return work(together);
        }
        NcclOperation operation = order.begin();
        operation.add(collective);
        try {
            comm.issue(collective, out, in);
        } catch (CudaException error) {
            throw watchdog.refused(operation, error);
        }
        order.end(operation);
        return work(operation);
    }

    private NcclWork work(NcclOperation operation) {
        return new NcclWork(operation, order, watchdog);
    }

    /** Waits for operations in flight as long as for the failure of a peer, then aborts them. */
    @Override
    public void close() {
        if (watchdog.closed()) {
            return;
        }
        if (watchdog.close()) {
            order.close();
            comm.close();
            flag.close();
        } else {
            stack.gpu().abandon();
        }
    }
}
