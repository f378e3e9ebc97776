package org.isobar.backend.cpu;

import static org.isobar.device.OutOfDeviceMemoryException.gigabytes;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.function.IntConsumer;
import java.util.function.Supplier;

import org.isobar.backend.cpu.generated.GeneratedCode;
import org.isobar.backend.cpu.onednn.MatmulCache;
import org.isobar.backend.cpu.onednn.OneDnn;
import org.isobar.backend.cpu.ops.CpuTensorOps;
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.host.SocketCommunicator;
import org.isobar.device.DeviceType;
import org.isobar.device.Footprint;
import org.isobar.device.HostBuffer;
import org.isobar.device.InPlaceBuffer;
import org.isobar.device.MemoryGauge;
import org.isobar.device.OutOfDeviceMemoryException;
import org.isobar.device.PendingWork;
import org.isobar.device.checks.CheckedTensorOps;
import org.isobar.device.ops.TensorOps;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.job.Job;
import org.isobar.distributed.job.JobDevice;
import org.isobar.os.HostMachine;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * The CPU as a device: this machine's processor and memory. Operations are synchronous. Host buffers and tensors share
 * the same memory.
 */
public final class CpuDevice implements JobDevice {
    private static final long ALIGNMENT = org.isobar.device.DeviceArena.ALIGNMENT;

    private final WorkerPool pool;
    private final CpuWorkspace workspace = new CpuWorkspace();
    private final MatmulCache matmuls;
    private final TensorOps ops;
    private final boolean bf16 = HostMachine.multipliesBf16();

    /**
     * Creates a device that computes on {@code threads} threads, including the calling thread.
     *
     * @throws IllegalArgumentException if {@code threads} is not positive
     * @throws org.isobar.fault.UserException if this machine's products need oneDNN and it cannot be loaded
     */
    public CpuDevice(int threads) {
        if (threads < 1) {
            throw new IllegalArgumentException(threads + " threads");
        }
        if (!GeneratedCode.hasDirectProducts()) { // then oneDNN computes them
            OneDnn.load();
        }
        matmuls = new MatmulCache(threads);
        pool = new WorkerPool(threads);
        ops = CheckedTensorOps.of(CpuTensorOps.of(pool, workspace, matmuls));
    }

    @Override
    public String description() {
        return HostMachine.processor() + ", " + pool.threads() + (pool.threads() == 1 ? " thread" : " threads");
    }

    @Override
    public DeviceType type() {
        return DeviceType.CPU;
    }

    @Override
    public boolean supports(DType dtype) {
        return dtype == DType.F32 || dtype == DType.BF16 && bf16;
    }

    @Override
    public TensorOps ops() {
        return ops;
    }

    @Override
    public Communicator connect(Job job, ProcessGroup group) {
        return SocketCommunicator.open(job, group);
    }

    @Override
    public Communicator connectThroughHost(Job job, ProcessGroup group) {
        return connect(job, group);
    }

    @Override
    public org.isobar.device.DeviceArena arena(String name, long bytes) {
        Arena memory = Arena.ofShared(); // shared: pool and loader threads use it too
        return new org.isobar.device.DeviceArena(name, allocate(memory, name, bytes), memory::close);
    }

    @Override
    public HostBuffer hostBuffer(DType dtype, Shape shape) {
        Arena memory = Arena.ofShared(); // shared: pool and loader threads use it too
        HostStorage storage = allocate(memory, "input", shape.elements() * dtype.bytes());
        return new InPlaceBuffer(storage.segment(), new Tensor(storage, 0, dtype, shape), memory::close);
    }

    private static HostStorage allocate(Arena memory, String name, long bytes) {
        try {
            return allocate(name, bytes, () -> new HostStorage(memory.allocate(bytes, ALIGNMENT)));
        } catch (OutOfDeviceMemoryException full) {
            memory.close();
            throw full;
        }
    }

    private static <T> T allocate(String name, long bytes, Supplier<T> allocation) {
        long available = HostMachine.availableMemory();
        try {
            if (bytes <= available) {
                return allocation.get();
            }
        } catch (OutOfMemoryError refused) { // a limit unknown to availableMemory, such as ulimit -v
            available = 0;
        }
        throw new OutOfDeviceMemoryException("not enough memory for " + name + ": " + gigabytes(bytes)
            + " GB are needed, this machine has " + gigabytes(available)
            + " GB left; a smaller batch or a smaller model needs less");
    }

    @Override
    public void reserve(Footprint footprint) {
        long bytes = workspaceBytes(footprint);
        if (bytes > workspace.bytes()) {
            allocate("the workspace", bytes, () -> {
                workspace.reserve(bytes);
                return workspace;
            });
        }
        CpuTensorOps.compileAhead(footprint);
    }

    @Override
    public long workspaceBytes(Footprint footprint) {
        return CpuTensorOps.workspaceBytes(footprint, pool.threads());
    }

    /** Bytes of workspace that operations have reserved, in addition to their arguments. */
    public long workspaceBytes() {
        return workspace.bytes();
    }

    @Override
    public void upload(Tensor destination, MemorySegment source) {
        assert source.byteSize() == destination.bytes() : source.byteSize() + " bytes for " + destination;
        HostStorage.of(destination).copyFrom(source);
    }

    @Override
    public void download(MemorySegment destination, Tensor source) {
        assert destination.byteSize() == source.bytes() : source + " for " + destination.byteSize() + " bytes";
        destination.copyFrom(HostStorage.of(source));
    }

    @Override
    public Optional<MemorySegment> hostMemory(Tensor tensor) {
        return Optional.of(HostStorage.of(tensor));
    }

    @Override
    public void runOnHost(int tasks, IntConsumer work) {
        pool.runApart(tasks, (worker, task) -> work.accept(task));
    }

    @Override
    public PendingWork startOnHost(int tasks, IntConsumer work) {
        return pool.start(tasks, work);
    }

    @Override
    public MemoryGauge memory() {
        return new MemoryGauge() {
            @Override
            public long highWatermark() {
                return HostMachine.residentHighWatermark();
            }

            @Override
            public long available() {
                return HostMachine.availableMemory();
            }
        };
    }

    @Override
    public void close() {
        pool.close();
        matmuls.close();
        workspace.close();
    }
}
