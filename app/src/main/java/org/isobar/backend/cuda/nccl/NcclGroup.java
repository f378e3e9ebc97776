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
 * A communicator of NCCL and the stream of its own that it issues to. It orders nothing with other streams: that is
 * the affair of whoever uses it.
 */
final class NcclGroup implements AutoCloseable {
    private static final long PATIENCE_SECONDS = 1;

    private final Gpu gpu;
    private final ProcessGroup group;
    private final ncclComm comm;
    private final CudaStream stream = new CudaStream();
    private final DevicePointer from = new DevicePointer();
    private final DevicePointer to = new DevicePointer();
    private final Map<Factor, Integer> sums = new HashMap<>();
    private final int[] status = {0};
    private final ReentrantLock calls = new ReentrantLock();
    private final AtomicBoolean ended = new AtomicBoolean();

    private record Factor(DType dtype, double value) { }

    /** Takes over {@code comm}, which connects this rank with the others of {@code group}. */
    NcclGroup(Gpu gpu, ProcessGroup group, ncclComm comm) {
        this.gpu = gpu;
        this.group = group;
        this.comm = comm;
    }

    /** What it issues to. */
    CudaStream stream() {
        return stream;
    }

    /**
     * Issues an operation; the host does not wait.
     *
     * @param out address of the result; unused where this rank receives nothing
     * @param in  address of what is read; unused where it brings nothing
     * @throws CudaException if NCCL refuses
     */
    void issue(CollectiveCall operation, long out, long in) {
        calls.lock();
        try {
            if (ended.get()) {
                throw new CudaException("the communicator of NCCL is closed");
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
        parts(operation, (part, offset) -> check(ncclBroadcast(from.at(part == group.index() ? in : 0),
            to.at(out + offset), operation.sizes()[part], type, part, comm, stream.handle()), "ncclBroadcast"));
    }

    private void scatter(CollectiveCall operation, long out, long in, int type) {
        int operator = operator(operation);
        if (operation.even()) {
            check(ncclReduceScatter(from.at(in), to.at(out), operation.sizes()[0], type, operator, comm,
                stream.handle()), "ncclReduceScatter");
            return;
        }
        parts(operation, (part, offset) -> check(ncclReduce(from.at(in + offset),
            to.at(part == group.index() ? out : 0), operation.sizes()[part], type, operator, part, comm,
            stream.handle()), "ncclReduce"));
    }

    /** Parts of different sizes: as many operations as there are parts with elements, issued as one. */
    private void parts(CollectiveCall operation, PartCall call) {
        begin();
        try {
            long offset = 0;
            for (int part = 0; part < operation.sizes().length; part++) {
                if (operation.sizes()[part] > 0) {
                    call.issue(part, offset);
                }
                offset += operation.sizes()[part] * operation.dtype().bytes();
            }
        } finally {
            end();
        }
    }

    @FunctionalInterface
    private interface PartCall {
        void issue(int part, long offset);
    }

    /** What is issued from here to {@link #end} is one operation of the GPU. May be nested. */
    void begin() {
        check(ncclGroupStart(), "ncclGroupStart");
        calls.lock(); // until the end: nobody may abort half a group
    }

    /** The end of what {@link #begin} began; whatever has happened since. */
    void end() {
        try {
            check(ncclGroupEnd(), "ncclGroupEnd");
        } finally {
            calls.unlock();
        }
    }

    /** NCCL's operator; those with factors are made once. */
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

    /** What has gone wrong in an operation that was issued, in NCCL's words. */
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
     * Ends what is under way, on any thread; may take its time. A thread that is in a call of NCCL is let out of it
     * first, unless it is kept there, waiting for a peer: then nothing but this will free it.
     */
    void abort() {
        boolean last;
        boolean alone = alone();
        try {
            last = ended.compareAndSet(false, true);
        } finally {
            if (alone) {
                calls.unlock();
            }
        }
        if (last) {
            gpu.release(() -> ncclCommAbort(comm)); // says nothing new if it fails
        }
    }

    private boolean alone() {
        try {
            return calls.tryLock(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /**
     * Ends the communicator when all that was issued is done; waits for the other ranks, which do the same, and, as
     * {@link #abort} does, until every CUDA graph with its operations is gone. So neither keeps others from calling:
     * the thread that would free those graphs may be about to ask for {@link #error}.
     */
    void destroy() {
        boolean last;
        calls.lock();
        try {
            last = ended.compareAndSet(false, true);
        } finally {
            calls.unlock();
        }
        if (last) {
            gpu.release(() -> ncclCommDestroy(comm)); // fails if the device has
        }
    }

    /** Frees the stream, after {@link #abort} or {@link #destroy}. */
    @Override
    public void close() {
        gpu.release(stream::close);
    }
}
