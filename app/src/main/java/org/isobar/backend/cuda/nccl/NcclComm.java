package org.isobar.backend.cuda.nccl;

import static org.bytedeco.cuda.global.nccl.ncclAllGather;
import static org.bytedeco.cuda.global.nccl.ncclAllReduce;
import static org.bytedeco.cuda.global.nccl.ncclBroadcast;
import static org.bytedeco.cuda.global.nccl.ncclCommAbort;
import static org.bytedeco.cuda.global.nccl.ncclCommDestroy;
import static org.bytedeco.cuda.global.nccl.ncclCommGetAsyncError;
import static org.bytedeco.cuda.global.nccl.ncclGroupEnd;
import static org.bytedeco.cuda.global.nccl.ncclGroupStart;
import static org.bytedeco.cuda.global.nccl.ncclInProgress;
import static org.bytedeco.cuda.global.nccl.ncclMax;
import static org.bytedeco.cuda.global.nccl.ncclRecv;
import static org.bytedeco.cuda.global.nccl.ncclRedOpCreatePreMulSum;
import static org.bytedeco.cuda.global.nccl.ncclReduce;
import static org.bytedeco.cuda.global.nccl.ncclReduceScatter;
import static org.bytedeco.cuda.global.nccl.ncclScalarHostImmediate;
import static org.bytedeco.cuda.global.nccl.ncclSend;
import static org.bytedeco.cuda.global.nccl.ncclSuccess;
import static org.bytedeco.cuda.global.nccl.ncclSum;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;

import org.bytedeco.cuda.nccl.ncclComm;
import org.bytedeco.javacpp.LongPointer;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.driver.CudaStream;
import org.isobar.backend.cuda.driver.DevicePointer;
import org.isobar.backend.cuda.driver.Gpu;
import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Reduction;
import org.isobar.tensor.DType;

/**
 * An {@code ncclComm_t} and the stream that its collectives are issued to. It does not order this stream with others;
 * the caller does ({@link NcclStreamOrder}).
 */
final class NcclComm implements AutoCloseable {
    private static final long LOCK_SECONDS = 1;

    private final Gpu gpu;
    private final ProcessGroup group;
    private final ncclComm comm;
    /** Collectives that overlap with computation need few multiprocessors, but at once. */
    private final CudaStream stream = new CudaStream(CudaStream.Priority.HIGHEST);
    private final DevicePointer from = new DevicePointer();
    private final DevicePointer to = new DevicePointer();
    private final Map<Factor, Integer> sums = new HashMap<>();
    private final int[] status = {0};
    private final ReentrantLock calls = new ReentrantLock();
    private final AtomicBoolean ended = new AtomicBoolean();

    private record Factor(DType dtype, double value) { }

    /** Takes ownership of {@code comm}, which connects this rank with the other ranks of {@code group}. */
    NcclComm(Gpu gpu, ProcessGroup group, ncclComm comm) {
        this.gpu = gpu;
        this.group = group;
        this.comm = comm;
    }

    ProcessGroup group() {
        return group;
    }

    /** The stream of this communicator. */
    CudaStream stream() {
        return stream;
    }

    /**
     * Issues a collective; the host does not wait.
     *
     * @param out address of the result; ignored if this rank receives nothing
     * @param in  address of the input; ignored if this rank sends nothing
     * @throws CudaException if NCCL returns an error
     */
    void issue(CollectiveCall operation, long out, long in) {
        calls.lock();
        try {
            if (ended.get()) {
                throw new CudaException("the NCCL communicator is closed");
            }
            int type = Nccl.type(operation.dtype());
            switch (operation.kind()) {
                case ALL_REDUCE -> reduce(operation, out, in, type);
                case ALL_GATHER -> gather(operation, out, in, type);
                case REDUCE_SCATTER -> scatter(operation, out, in, type);
                case BROADCAST -> check(ncclBroadcast(from.at(in), to.at(out), operation.elements(), type,
                    operation.root(), comm, stream.handle()), "ncclBroadcast");
                case SEND -> check(ncclSend(from.at(in), operation.elements(), type, operation.root(), comm,
                    stream.handle()), "ncclSend");
                case RECEIVE -> check(ncclRecv(to.at(out), operation.elements(), type, operation.root(), comm,
                    stream.handle()), "ncclRecv");
                case BARRIER -> check(ncclAllReduce(from.at(in), to.at(out), 1, type, ncclSum, comm, stream.handle()),
                    "ncclAllReduce");
                default -> throw new AssertionError(operation);
            }
        } finally {
            calls.unlock();
        }
    }

    private void reduce(CollectiveCall operation, long out, long in, int type) {
        check(ncclAllReduce(from.at(in), to.at(out), operation.elements(), type, operator(operation), comm,
            stream.handle()), "ncclAllReduce");
    }

    private void gather(CollectiveCall operation, long out, long in, int type) {
        if (operation.even()) {
            check(ncclAllGather(from.at(in), to.at(out), operation.sizes()[0], type, comm, stream.handle()),
                "ncclAllGather");
            return;
        }
        forEachPart(operation, (part, offset) -> check(ncclBroadcast(from.at(part == group.index() ? in : 0),
            to.at(out + offset), operation.sizes()[part], type, part, comm, stream.handle()), "ncclBroadcast"));
    }

    private void scatter(CollectiveCall operation, long out, long in, int type) {
        int operator = operator(operation);
        if (operation.even()) {
            check(ncclReduceScatter(from.at(in), to.at(out), operation.sizes()[0], type, operator, comm,
                stream.handle()), "ncclReduceScatter");
            return;
        }
        forEachPart(operation, (part, offset) -> check(ncclReduce(from.at(in + offset),
            to.at(part == group.index() ? out : 0), operation.sizes()[part], type, operator, part, comm,
            stream.handle()), "ncclReduce"));
    }

    /** Issues one call for each part that has elements, in one NCCL group: for parts of different sizes. */
    private void forEachPart(CollectiveCall operation, PartCall call) {
        group(() -> {
            long offset = 0;
            for (int part = 0; part < operation.sizes().length; part++) {
                if (operation.sizes()[part] > 0) {
                    call.issue(part, offset);
                }
                offset += operation.sizes()[part] * operation.dtype().bytes();
            }
        });
    }

    @FunctionalInterface
    private interface PartCall {
        void issue(int part, long offset);
    }

    /** Issues the calls of {@code several} as one operation of the GPU (ncclGroupStart). May be nested. */
    void group(Runnable several) {
        check(ncclGroupStart(), "ncclGroupStart");
        calls.lock(); // until the end, so that no thread aborts the communicator inside a group
        try {
            several.run();
        } finally {
            endGroup();
        }
    }

    private void endGroup() {
        try {
            check(ncclGroupEnd(), "ncclGroupEnd");
        } finally {
            calls.unlock();
        }
    }

    /** NCCL's reduction operator. Operators with a factor are created once and kept. */
    private int operator(CollectiveCall operation) {
        Reduction reduction = operation.reduction();
        double scale = reduction.scale(group.size());
        if (reduction.kind() == Reduction.Kind.MAX) {
            return ncclMax;
        }
        return scale == 1 ? ncclSum : sums.computeIfAbsent(new Factor(operation.dtype(), scale), this::scaledSum);
    }

    private int scaledSum(Factor factor) {
        int[] operator = {0};
        try (LongPointer scalar = new LongPointer(1)) {
            scalar.put(factor.dtype().bits(factor.value()));
            check(ncclRedOpCreatePreMulSum(operator, scalar, Nccl.type(factor.dtype()), ncclScalarHostImmediate, comm),
                "ncclRedOpCreatePreMulSum");
        }
        return operator[0];
    }

    private static void check(int result, String call) {
        Nccl.check(result, call);
    }

    /** The asynchronous error of the communicator, if there is one. */
    Optional<String> error() {
        calls.lock();
        try {
            if (ended.get()) {
                return Optional.empty();
            }
            check(ncclCommGetAsyncError(comm, status), "ncclCommGetAsyncError");
            return status[0] == ncclSuccess || status[0] == ncclInProgress ? Optional.empty()
                : Optional.of("NCCL: " + Nccl.describe(status[0]));
        } finally {
            calls.unlock();
        }
    }

    /**
     * Aborts the operations in flight; may be called on any thread, and may take long. If another thread is in a call
     * of NCCL, this waits for it up to a second. After that the call is taken to wait for a peer, and only the abort
     * ends it.
     */
    void abort() {
        boolean first;
        boolean locked = tryLock();
        try {
            first = ended.compareAndSet(false, true);
        } finally {
            if (locked) {
                calls.unlock();
            }
        }
        if (first) {
            gpu.release(() -> ncclCommAbort(comm)); // an error here has no new cause; ignored
        }
    }

    private boolean tryLock() {
        try {
            return calls.tryLock(LOCK_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /**
     * Destroys the communicator once all its operations are done. Like {@link #abort}, it waits until every CUDA graph
     * with its operations is freed; it also waits for the other ranks, which call it too. Both wait without holding the
     * lock, because the thread that would free those graphs may call {@link #error} first.
     */
    void destroy() {
        boolean first;
        calls.lock();
        try {
            first = ended.compareAndSet(false, true);
        } finally {
            calls.unlock();
        }
        if (first) {
            gpu.release(() -> ncclCommDestroy(comm)); // returns an error after a device failure; ignored
        }
    }

    /** Frees the stream. Call it after {@link #abort} or {@link #destroy}. */
    @Override
    public void close() {
        gpu.release(stream::close);
    }
}
