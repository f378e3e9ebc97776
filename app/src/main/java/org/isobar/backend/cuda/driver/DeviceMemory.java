package org.isobar.backend.cuda.driver;

import static org.bytedeco.cuda.global.cudart.CUDA_ERROR_OUT_OF_MEMORY;
import static org.bytedeco.cuda.global.cudart.cuMemAlloc;
import static org.bytedeco.cuda.global.cudart.cuMemFree;
import static org.bytedeco.cuda.global.cudart.cuMemGetInfo;

import org.bytedeco.javacpp.SizeTPointer;
import org.isobar.device.OutOfDeviceMemoryException;
import org.isobar.tensor.Storage;

/** A block of GPU memory, aligned to 256 bytes. */
public final class DeviceMemory implements Storage, AutoCloseable {
    private static final double GIB = 1L << 30;

    private final Gpu gpu;
    private final long bytes;
    private long address;

    /**
     * Allocates a block.
     *
     * @param what what it holds, for messages
     * @throws OutOfDeviceMemoryException if less memory is free
     */
    public DeviceMemory(Gpu gpu, String what, long bytes) {
        this.gpu = gpu;
        this.bytes = bytes;
        gpu.makeCurrent();
        long[] place = {0};
        int result = cuMemAlloc(place, Math.max(1, bytes));
        if (result == CUDA_ERROR_OUT_OF_MEMORY) {
            throw new OutOfDeviceMemoryException(String.format("not enough memory on the GPU for %s: %.2f GB are "
                + "needed, %.2f GB are free; nvidia-smi shows who else uses it, and a smaller batch or a smaller model "
                + "needs less", what, bytes / GIB, free() / GIB));
        }
        Cuda.check(result, "cuMemAlloc");
        address = place[0];
    }

    private static long free() {
        try (SizeTPointer free = new SizeTPointer(1); SizeTPointer total = new SizeTPointer(1)) {
            Cuda.check(cuMemGetInfo(free, total), "cuMemGetInfo");
            return free.get();
        }
    }

    @Override
    public long address() {
        return address;
    }

    @Override
    public long bytes() {
        return bytes;
    }

    /** Waits for work in flight and frees the block; once. */
    @Override
    public void close() {
        if (address != 0) {
            gpu.release(() -> cuMemFree(address)); // returns an error after a device failure; ignored
            address = 0;
        }
    }
}
