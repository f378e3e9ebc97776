package org.isobar.backend.cuda;

import static org.bytedeco.cuda.global.cudart.cuMemcpyDtoH;
import static org.bytedeco.cuda.global.cudart.cuMemcpyHtoD;
import static org.bytedeco.cuda.global.cudart.cuStreamSynchronize;

import java.lang.foreign.MemorySegment;
import java.util.function.UnaryOperator;

import org.isobar.device.Arena;
import org.isobar.device.CheckedTensorOps;
import org.isobar.device.Device;
import org.isobar.device.Footprint;
import org.isobar.device.HostBuffer;
import org.isobar.device.MemoryGauge;
import org.isobar.device.TensorOps;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * The operations of the first GPU with nothing around them but memory and a stream, and with kernels whose sources a
 * test may have changed.
 */
final class BareDevice implements Device {
    private final CudaStack stack;
    private final CudaTensorOps operations;
    private final TensorOps checked;

    BareDevice(CudaOptions options, UnaryOperator<KernelSource> change) {
        stack = new CudaStack(0, options, System.getenv(), warning -> { });
        CudaContext context = stack.context();
        Kernels kernels = new SourceKernels(context.kernels(), stack.gpu().capability(), change);
        operations = new CudaTensorOps(new CudaContext(kernels, context.launcher(), context.workspace(), options));
        checked = new CheckedTensorOps(operations);
    }

    @Override
    public String description() {
        return "bare GPU";
    }

    @Override
    public TensorOps ops() {
        return checked;
    }

    @Override
    public boolean supports(DType dtype) {
        return TypedKernel.TYPES.contains(dtype);
    }

    @Override
    public Arena arena(String name, long bytes) {
        DeviceMemory memory = new DeviceMemory(stack.gpu(), name, bytes);
        return new Arena(name, memory, memory::close);
    }

    @Override
    public void reserve(Footprint footprint) {
        stack.workspace().reserve(CudaTensorOps.workspaceBytes(footprint, stack.context().options()));
    }

    @Override
    public void upload(Tensor destination, MemorySegment source) {
        Cuda.check(cuMemcpyHtoD(destination.address(), new DevicePointer().at(source.address()), destination.bytes()),
            "cuMemcpyHtoD");
    }

    @Override
    public void download(MemorySegment destination, Tensor source) {
        Cuda.check(cuStreamSynchronize(stack.compute().handle()), "cuStreamSynchronize");
        Cuda.check(cuMemcpyDtoH(new DevicePointer().at(destination.address()), source.address(), source.bytes()),
            "cuMemcpyDtoH");
    }

    @Override
    public HostBuffer hostBuffer(DType dtype, Shape shape) {
        throw new UnsupportedOperationException("host buffers");
    }

    @Override
    public MemoryGauge memory() {
        throw new UnsupportedOperationException("a gauge");
    }

    @Override
    public void close() {
        operations.close();
        stack.close();
    }
}
