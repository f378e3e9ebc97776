package org.isobar.backend.cuda.kernels;

import static org.bytedeco.cuda.global.cudart.cuLaunchKernel;

import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.isobar.backend.cuda.driver.Cuda;
import org.isobar.tensor.Tensor;

/**
 * Launches kernels on a stream. A launch is one chain of calls, with the arguments in the kernel's order:
 * <pre>
 * launcher.call(kernel).tensor(y).tensor(x).int64(n).float32(scale).launch(blocks, threads);
 * </pre>
 * A launch allocates nothing. Used by the thread that issues the operations.
 */
public final class KernelLauncher implements AutoCloseable {
    private static final int MOST_ARGUMENTS = 48;

    private final CUstream_st stream;
    private final LongPointer values = new LongPointer(MOST_ARGUMENTS); // eight bytes for each argument, little-endian
    private final PointerPointer<Pointer> addresses = new PointerPointer<>(MOST_ARGUMENTS);
    private LoadedKernel kernel;
    private int count;

    public KernelLauncher(CUstream_st stream) {
        this.stream = stream;
        for (int i = 0; i < MOST_ARGUMENTS; i++) {
            addresses.put(i, values.getPointer(i));
        }
    }

    /** The stream that kernels are launched on. */
    public CUstream_st stream() {
        return stream;
    }

    /** Starts the chain for a launch. */
    public KernelLauncher call(LoadedKernel called) {
        kernel = called;
        count = 0;
        return this;
    }

    /** Adds a pointer to the first element of a tensor. */
    public KernelLauncher tensor(Tensor tensor) {
        return int64(tensor.address());
    }

    /** Adds a {@code long long}, or a pointer. */
    public KernelLauncher int64(long value) {
        values.put(count++, value);
        return this;
    }

    /** Adds an {@code int}. */
    public KernelLauncher int32(long value) {
        return int64(Math.toIntExact(value));
    }

    /** Adds a {@code float}. */
    public KernelLauncher float32(double value) {
        return int64(Integer.toUnsignedLong(Float.floatToRawIntBits((float) value)));
    }

    /** Adds a {@code double}. */
    public KernelLauncher float64(double value) {
        return int64(Double.doubleToRawLongBits(value));
    }

    /** Launches a one-dimensional grid without dynamic shared memory. */
    public void launch(long blocks, int threads) {
        launch(blocks, 1, 1, threads, 0);
    }

    /**
     * Launches a grid of blocks.
     *
     * @param threads     threads in each block, in one dimension
     * @param sharedBytes dynamic shared memory of each block
     */
    public void launch(long x, long y, long z, int threads, int sharedBytes) {
        Cuda.check(cuLaunchKernel(kernel.function(), Math.toIntExact(x), Math.toIntExact(y), Math.toIntExact(z),
            threads, 1, 1, sharedBytes, stream, addresses, null), kernel.name());
    }

    @Override
    public void close() {
        addresses.close();
        values.close();
    }
}
