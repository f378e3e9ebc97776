package org.isobar.backend.cuda;

import static org.bytedeco.cuda.global.cudart.cuCtxSetCurrent;
import static org.bytedeco.cuda.global.cudart.cuCtxSynchronize;
import static org.bytedeco.cuda.global.cudart.cuDevicePrimaryCtxRelease;
import static org.bytedeco.cuda.global.cudart.cuDevicePrimaryCtxReset;
import static org.bytedeco.cuda.global.cudart.cuDevicePrimaryCtxRetain;
import static org.bytedeco.cuda.global.cudart.cuInit;
import static org.bytedeco.cuda.global.cudart.cuMemAlloc;
import static org.bytedeco.cuda.global.cudart.cuMemFree;
import static org.bytedeco.cuda.global.cudart.cuMemcpyDtoH;
import static org.bytedeco.cuda.global.cudart.cuMemcpyHtoD;
import static org.bytedeco.cuda.global.cudart.cuStreamCreate;

import java.lang.foreign.MemorySegment;

import org.bytedeco.cuda.cudart.CUctx_st;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.isobar.device.Arena;
import org.isobar.device.CheckedTensorOps;
import org.isobar.device.Device;
import org.isobar.device.Footprint;
import org.isobar.device.HostBuffer;
import org.isobar.device.MemoryGauge;
import org.isobar.device.TensorOps;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Storage;
import org.isobar.tensor.Tensor;

/**
 * The operations of the first GPU with nothing around them but memory and a stream; kernels from sources that a test
 * may change. What goes wrong in it ends with it: the context is thrown away.
 */
final class BareDevice implements Device {
    private final CUctx_st context = new CUctx_st();
    private final CUstream_st stream = new CUstream_st();
    private final KernelLauncher launcher;
    private final CudaTensorOps ops;
    private long workspace;
    private long workspaceBytes;

    BareDevice(CudaOptions options, SourceKernels.Source source) {
        Cuda.check(cuInit(0), "cuInit");
        Cuda.check(cuDevicePrimaryCtxRetain(context, 0), "cuDevicePrimaryCtxRetain");
        Cuda.check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
        Cuda.check(cuStreamCreate(stream, 0), "cuStreamCreate");
        launcher = new KernelLauncher(stream);
        ops = new CudaTensorOps(
            new CudaContext(new SourceKernels(source), launcher, this::workspace, options), stream);
    }

    private record DeviceBlock(long address, long bytes) implements Storage { }

    private long workspace(long bytes) {
        if (bytes > workspaceBytes) {
            throw new IllegalStateException(bytes + " bytes of workspace, " + workspaceBytes + " are reserved");
        }
        return workspace;
    }

    @Override
    public String description() {
        return "bare GPU";
    }

    @Override
    public TensorOps ops() {
        return new CheckedTensorOps(ops);
    }

    @Override
    public boolean supports(DType dtype) {
        return TypedKernel.TYPES.contains(dtype);
    }

    @Override
    public Arena arena(String name, long bytes) {
        long memory = allocate(bytes);
        return new Arena(name, new DeviceBlock(memory, bytes), () -> Cuda.check(cuMemFree(memory), "cuMemFree"));
    }

    @Override
    public void reserve(Footprint footprint) {
        workspaceBytes = CudaTensorOps.workspaceBytes(footprint);
        workspace = allocate(workspaceBytes);
    }

    private static long allocate(long bytes) {
        long[] address = new long[1];
        Cuda.check(cuMemAlloc(address, bytes), "cuMemAlloc");
        return address[0];
    }

    @Override
    public void upload(Tensor destination, MemorySegment source) {
        Cuda.check(cuMemcpyHtoD(destination.address(), new DevicePointer().at(source.address()), destination.bytes()),
            "cuMemcpyHtoD");
    }

    @Override
    public void download(MemorySegment destination, Tensor source) {
        Cuda.check(cuCtxSynchronize(), "cuCtxSynchronize");
        Cuda.check(cuMemcpyDtoH(new DevicePointer().at(destination.address()), source.address(), source.bytes()),
            "cuMemcpyDtoH");
    }

    @Override
    public HostBuffer hostBuffer(DType dtype, Shape shape) {
        throw new UnsupportedOperationException();
    }

    @Override
    public MemoryGauge memory() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
        ops.close();
        launcher.close();
        cuDevicePrimaryCtxReset(0);
        cuDevicePrimaryCtxRelease(0);
    }
}
