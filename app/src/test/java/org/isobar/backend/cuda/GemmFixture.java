package org.isobar.backend.cuda;

import static org.bytedeco.cuda.global.cudart.cuCtxSetCurrent;
import static org.bytedeco.cuda.global.cudart.cuDevicePrimaryCtxRelease;
import static org.bytedeco.cuda.global.cudart.cuDevicePrimaryCtxRetain;
import static org.bytedeco.cuda.global.cudart.cuInit;
import static org.bytedeco.cuda.global.cudart.cuMemAlloc;
import static org.bytedeco.cuda.global.cudart.cuMemFree;
import static org.bytedeco.cuda.global.cudart.cuMemcpyDtoH;
import static org.bytedeco.cuda.global.cudart.cuMemcpyHtoD;
import static org.bytedeco.cuda.global.cudart.cuStreamCreate;
import static org.bytedeco.cuda.global.cudart.cuStreamDestroy;
import static org.bytedeco.cuda.global.cudart.cuStreamSynchronize;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

import org.bytedeco.cuda.cudart.CUctx_st;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.isobar.backend.cuda.CudaOptions.SinglePrecision;
import org.isobar.device.Arena;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Storage;
import org.isobar.tensor.Tensor;

/** Products on the first GPU, real or simulated, with nothing around them but memory and a stream. */
final class GemmFixture implements AutoCloseable {
    private static final long BYTES = 8L << 20;

    /** A matrix of the host: numbers that its type has, row by row. */
    record Matrix(double[] values, int columns) {
        double at(int row, int column) {
            return values[row * columns + column];
        }
    }

    private final CUctx_st context = new CUctx_st();
    private final CUstream_st stream = new CUstream_st();
    private final long workspace;
    private final Arena arena;
    private final KernelLauncher launcher;
    private final CublasLtGemm gemm;

    GemmFixture(SinglePrecision single) {
        Cuda.check(cuInit(0), "cuInit");
        Cuda.check(cuDevicePrimaryCtxRetain(context, 0), "cuDevicePrimaryCtxRetain");
        Cuda.check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
        Cuda.check(cuStreamCreate(stream, 0), "cuStreamCreate");
        workspace = allocate(CublasLtGemm.workspaceBytes(null));
        long memory = allocate(BYTES);
        arena = new Arena("test", new DeviceBlock(memory, BYTES), () -> free(memory));
        launcher = new KernelLauncher(stream);
        CudaOptions options = new CudaOptions(CudaOptions.Fusion.SEPARATE, single,
            CudaOptions.QueryGradient.DETERMINISTIC);
        gemm = new CublasLtGemm(new CudaContext(null, launcher, bytes -> workspace, options), stream, null);
    }

    private record DeviceBlock(long address, long bytes) implements Storage { }

    CublasLtGemm gemm() {
        return gemm;
    }

    /** A tensor whose address is {@code shift} bytes past a multiple of 256. */
    Tensor tensor(DType dtype, int shift, long... extents) {
        long elements = Shape.of(extents).elements();
        int skipped = shift / dtype.bytes();
        return arena.allocate(dtype, skipped + elements).slice(skipped, elements).reshape(extents);
    }

    /** The same numbers from -1 to 1, of the tensor's type, for the same seed; also in the tensor. */
    Matrix fill(Tensor tensor, long seed) {
        Philox.Key key = Philox.Key.of(seed, "test");
        double[] values = new double[(int) tensor.elements()];
        for (int i = 0; i < values.length; i++) {
            values[i] = round(tensor.dtype(), 2 * Philox.uniform(key, i) - 1);
        }
        upload(tensor, values);
        return new Matrix(values, (int) tensor.shape().extent(-1));
    }

    /** What an operation must overwrite and never read. */
    void poison(Tensor tensor) {
        double[] values = new double[(int) tensor.elements()];
        Arrays.fill(values, Double.NaN);
        upload(tensor, values);
    }

    private void upload(Tensor tensor, double[] values) {
        MemorySegment host = java.lang.foreign.Arena.ofAuto().allocate(tensor.bytes());
        for (int i = 0; i < values.length; i++) {
            switch (tensor.dtype()) {
                case F32 -> host.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) values[i]);
                case F16 -> host.setAtIndex(ValueLayout.JAVA_SHORT, i, Float.floatToFloat16((float) values[i]));
                case BF16 -> host.setAtIndex(ValueLayout.JAVA_SHORT, i, bf16((float) values[i]));
                default -> throw new IllegalArgumentException();
            }
        }
        Cuda.check(cuMemcpyHtoD(tensor.address(), new DevicePointer().at(host.address()), tensor.bytes()), "upload");
    }

    /** The tensor's numbers, after all products. */
    Matrix download(Tensor tensor) {
        MemorySegment host = java.lang.foreign.Arena.ofAuto().allocate(tensor.bytes());
        Cuda.check(cuStreamSynchronize(stream), "cuStreamSynchronize");
        Cuda.check(cuMemcpyDtoH(new DevicePointer().at(host.address()), tensor.address(), tensor.bytes()), "download");
        double[] values = new double[(int) tensor.elements()];
        for (int i = 0; i < values.length; i++) {
            values[i] = switch (tensor.dtype()) {
                case F32 -> host.getAtIndex(ValueLayout.JAVA_FLOAT, i);
                case F16 -> Float.float16ToFloat(host.getAtIndex(ValueLayout.JAVA_SHORT, i));
                case BF16 -> Float.intBitsToFloat(host.getAtIndex(ValueLayout.JAVA_SHORT, i) << Short.SIZE);
                default -> throw new IllegalArgumentException();
            };
        }
        return new Matrix(values, (int) tensor.shape().extent(-1));
    }

    private static double round(DType dtype, double value) {
        return switch (dtype) {
            case F16 -> Float.float16ToFloat(Float.floatToFloat16((float) value));
            case BF16 -> Float.intBitsToFloat(bf16((float) value) << Short.SIZE);
            default -> (float) value;
        };
    }

    /** Upper half of a float: any number of the type will do for a test, so it is cut, not rounded. */
    private static short bf16(float value) {
        return (short) (Float.floatToRawIntBits(value) >>> Short.SIZE);
    }

    private static long allocate(long bytes) {
        long[] address = new long[1];
        Cuda.check(cuMemAlloc(address, bytes), "cuMemAlloc");
        return address[0];
    }

    private static void free(long address) {
        Cuda.check(cuMemFree(address), "cuMemFree");
    }

    @Override
    public void close() {
        gemm.close();
        launcher.close();
        arena.close();
        free(workspace);
        cuStreamDestroy(stream);
        cuDevicePrimaryCtxRelease(0);
    }
}
