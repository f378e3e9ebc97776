package org.isobar.backend.cuda.driver;

import static org.bytedeco.cuda.global.cudart.CUDA_ERROR_OUT_OF_MEMORY;
import static org.bytedeco.cuda.global.cudart.cuMemFreeHost;
import static org.bytedeco.cuda.global.cudart.cuMemHostAlloc;
import static org.isobar.device.OutOfDeviceMemoryException.gigabytes;

import java.lang.foreign.MemorySegment;

import org.bytedeco.javacpp.Pointer;
import org.isobar.device.OutOfDeviceMemoryException;

/** Pinned host memory, which a GPU copies from and to asynchronously. */
public final class PinnedMemory implements AutoCloseable {
    private final Gpu gpu;
    private final Pointer pointer = new Pointer();
    private final MemorySegment segment;

    /**
     * Allocates memory, aligned to pages.
     *
     * @throws OutOfDeviceMemoryException if the host has less pinned memory
     */
    @SuppressWarnings("restricted") // the driver has just allocated this memory
    public PinnedMemory(Gpu gpu, long bytes) {
        this.gpu = gpu;
        gpu.makeCurrent();
        int result = cuMemHostAlloc(pointer, bytes, 0);
        if (result == CUDA_ERROR_OUT_OF_MEMORY) {
            throw new OutOfDeviceMemoryException("the host gives no " + gigabytes(bytes) + " GB of pinned memory; "
                + "a smaller batch or fewer loader threads (num_data_workers) need less");
        }
        Cuda.check(result, "cuMemHostAlloc");
        segment = MemorySegment.ofAddress(pointer.address()).reinterpret(bytes);
    }

    public MemorySegment segment() {
        return segment;
    }

    /** The pointer for calls of the driver. */
    public Pointer pointer() {
        return pointer;
    }

    /** Frees the memory; once. */
    @Override
    public void close() {
        if (!pointer.isNull()) {
            gpu.release(() -> cuMemFreeHost(pointer)); // returns an error after a device failure; ignored
            pointer.setNull();
        }
    }
}
