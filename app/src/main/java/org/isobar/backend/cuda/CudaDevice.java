package org.isobar.backend.cuda;

import static org.bytedeco.cuda.global.cudart.cuStreamSynchronize;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

import org.isobar.backend.cuda.CudaHostBuffer.InputStreams;
import org.isobar.backend.cuda.driver.CudaGraph;
import org.isobar.backend.cuda.driver.CudaStopwatch;
import org.isobar.backend.cuda.driver.CudaStream;
import org.isobar.backend.cuda.driver.DeviceMemory;
import org.isobar.backend.cuda.driver.NvmlGauge;
import org.isobar.backend.cuda.driver.NvtxRanges;
import org.isobar.backend.cuda.nccl.NcclCommunicator;
import org.isobar.backend.cuda.ops.CudaOptions;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.backend.cuda.ops.CudaTensorOps;
import org.isobar.backend.cuda.ops.GpuResources;
import org.isobar.backend.cuda.ops.OpResources;
import org.isobar.backend.cuda.ops.SecondAttention;
import org.isobar.backend.cuda.staged.StagedCommunicator;
import org.isobar.backend.host.SocketCommunicator;
import org.isobar.device.AttentionEngine;
import org.isobar.device.DeviceArena;
import org.isobar.device.DeviceGraph;
import org.isobar.device.DeviceType;
import org.isobar.device.Footprint;
import org.isobar.device.HostBuffer;
import org.isobar.device.MemoryGauge;
import org.isobar.device.ProductAlgorithms;
import org.isobar.device.ProfilerRanges;
import org.isobar.device.Readback;
import org.isobar.device.Stopwatch;
import org.isobar.device.checks.CheckedTensorOps;
import org.isobar.device.ops.TensorOps;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.job.Job;
import org.isobar.distributed.job.JobDevice;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * An NVIDIA GPU. Operations are issued to one stream, in the order of the calls, and run asynchronously; inputs are
 * copied on a second stream. The host waits only where it uses a result, in {@link #download} and
 * {@link Readback#await}, and before it fills a buffer that is still being copied.
 */
public final class CudaDevice implements JobDevice {
    private static final double TF32_ROUNDOFF = 0x1p-11;

    private final GpuResources stack;
    private final CudaStream copy;
    private final InputSlots places;
    private final PinnedTransfers transfers;
    private final CudaReadbacks readbacks;
    private final NvmlGauge gauge;
    private final ProfilerRanges ranges;
    private final SecondAttention attention;
    private final CudaTensorOps operations;
    private final TensorOps ops;
    private boolean closed;

    /**
     * Opens a GPU. The calling thread must issue the operations.
     *
     * @param ordinal     index of the GPU among those that this process sees
     * @param environment names the directory of compiled kernels
     * @param log         receives warnings about this device
     * @throws org.isobar.fault.UserException if a library is missing
     */
    public CudaDevice(int ordinal, CudaOptions options, Map<String, String> environment, Consumer<String> log) {
        stack = new GpuResources(ordinal, options, environment, log);
        try {
            copy = new CudaStream();
            places = new InputSlots(stack.gpu());
            transfers = new PinnedTransfers(stack.gpu(), stack.compute(), stack.waits());
            readbacks = new CudaReadbacks(stack);
            gauge = NvmlGauge.open(stack.gpu().device());
            ranges = NvtxRanges.load();
            attention = new SecondAttention(stack, environment);
            operations = new CudaTensorOps(stack.context(), Optional.of(attention));
            ops = CheckedTensorOps.of(operations.byFamily());
        } catch (RuntimeException failure) {
            stack.close(); // releases the context and everything allocated in it
            throw failure;
        }
    }

    @Override
    public String description() {
        return stack.gpu().toString();
    }

    @Override
    public DeviceType type() {
        return DeviceType.CUDA;
    }

    @Override
    public int visible() {
        return stack.gpu().visible();
    }

    @Override
    public TensorOps ops() {
        return ops;
    }

    @Override
    public boolean supports(DType dtype) {
        return dtype != DType.F64;
    }

    /** cuBLASLt 13.1 does so on an H100: before it adds a bias if rows are not aligned, otherwise before it adds C. */
    @Override
    public boolean roundsBeforeAdding() {
        return true;
    }

    @Override
    public double operandRoundoff(DType dtype) {
        return dtype == DType.F32 && stack.context().options().single() == SinglePrecision.TF32 ? TF32_ROUNDOFF : 0;
    }

    @Override
    public DeviceArena arena(String name, long bytes) {
        DeviceMemory memory = new DeviceMemory(stack.gpu(), name, bytes);
        gauge.sample();
        return new DeviceArena(name, memory, memory::close);
    }

    @Override
    public HostBuffer hostBuffer(DType dtype, Shape shape) {
        return new CudaHostBuffer(new InputStreams(stack.gpu(), stack.compute(), copy, places, stack.waits()), dtype,
            shape);
    }

    @Override
    public void compileAhead() {
        OpResources context = stack.context();
        stack.compileAhead(CudaTensorOps.kernelVariants(context.kernels().capability(), context.options()));
    }

    @Override
    public void require(Footprint footprint) {
        operations.require(footprint);
    }

    @Override
    public void reserve(Footprint footprint) {
        stack.workspace().reserve(workspaceBytes(footprint));
        gauge.sample();
    }

    @Override
    public long workspaceBytes(Footprint footprint) {
        return Math.max(CudaTensorOps.workspaceBytes(stack.context().kernels().capability(), footprint,
            stack.context().options()),
            attention.workspaceBytes());
    }

    @Override
    public List<String> kernels(Footprint footprint, DType compute) {
        return operations.description(footprint, compute);
    }

    @Override
    public Optional<AttentionEngine> secondAttention() {
        return Optional.of(attention);
    }

    @Override
    public Optional<ProductAlgorithms> productAlgorithms() {
        return Optional.of(operations.productAlgorithms());
    }

    /** Two batches: one in use and one being copied. */
    @Override
    public long inputBytes(long batchBytes, int slots) {
        return Math.multiplyExact(batchBytes, 2);
    }

    @Override
    public ProfilerRanges ranges() {
        return ranges;
    }

    @Override
    public void upload(Tensor destination, MemorySegment source) {
        assert source.byteSize() == destination.bytes() : source.byteSize() + " bytes for " + destination;
        transfers.upload(destination.address(), source);
    }

    @Override
    public void download(MemorySegment destination, Tensor source) {
        assert destination.byteSize() == source.bytes() : source + " for " + destination.byteSize() + " bytes";
        transfers.download(destination, source.address());
    }

    @Override
    public Readback read(Tensor source) {
        assert source.dtype() == DType.F64 : source;
        return readbacks.read(source);
    }

    @Override
    public boolean canCapture() {
        return true;
    }

    @Override
    public DeviceGraph capture(Runnable operations) {
        return new CudaGraph(stack.gpu(), stack.compute(), operations);
    }

    /** The GPU, streams and kernels of this device. */
    GpuResources stack() {
        return stack;
    }

    /** Connects over NCCL. */
    @Override
    public Communicator connect(Job job, ProcessGroup group) {
        return NcclCommunicator.open(stack, job, group);
    }

    /** Copies tensors to pinned host memory and connects over sockets. */
    @Override
    public Communicator connectThroughHost(Job job, ProcessGroup group) {
        return new StagedCommunicator(stack, job,
            SocketCommunicator.open(job, group, SocketCommunicator.Awaiter.WORKER_THREAD));
    }

    @Override
    public Stopwatch stopwatch() {
        return new CudaStopwatch(stack.gpu(), stack.compute(), stack.waits());
    }

    @Override
    public MemoryGauge memory() {
        return gauge;
    }

    /** Frees everything; once. Errors of a failed device are ignored. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        stack.gpu().release(() -> {
            for (CudaStream stream : List.of(stack.compute(), copy)) {
                cuStreamSynchronize(stream.handle()); // for copies of pinned memory; an error after a device failure
            }
            operations.close();
            attention.close();
            readbacks.close();
            transfers.close();
            places.close();
            copy.close();
            gauge.close();
        });
        stack.close();
    }
}
