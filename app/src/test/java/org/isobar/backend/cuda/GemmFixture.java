package org.isobar.backend.cuda;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

import org.isobar.backend.cuda.CudaOptions.Fusion;
import org.isobar.backend.cuda.CudaOptions.QueryGradient;
import org.isobar.backend.cuda.CudaOptions.SinglePrecision;
import org.isobar.device.Arena;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
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

    private final CudaStack stack;
    private final Transfers transfers;
    private final Arena arena;
    private final CublasLtGemm gemm;

    GemmFixture(SinglePrecision single) {
        stack = new CudaStack(0, new CudaOptions(Fusion.FUSED, single, QueryGradient.DETERMINISTIC), System.getenv(),
            warning -> { });
        stack.workspace().reserve(CublasLtGemm.workspaceBytes(null));
        transfers = new Transfers(stack.gpu(), stack.compute(), stack.waits());
        DeviceMemory memory = new DeviceMemory(stack.gpu(), "test", BYTES);
        arena = new Arena("test", memory, memory::close);
        gemm = new CublasLtGemm(stack.context(), new CudaGelu(stack.context(), new CudaColumnSums(stack.context())));
    }

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
        transfers.upload(tensor.address(), host);
    }

    /** The tensor's numbers, after all products. */
    Matrix download(Tensor tensor) {
        MemorySegment host = java.lang.foreign.Arena.ofAuto().allocate(tensor.bytes());
        transfers.download(host, tensor.address());
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

    @Override
    public void close() {
        stack.gpu().release(() -> {
            stack.compute().synchronize();
            gemm.close();
            transfers.close();
            arena.close();
        });
        stack.close();
    }
}
