package org.isobar.backend.cuda.driver;

import static org.bytedeco.cuda.global.cudart.CUDA_ERROR_OUT_OF_MEMORY;
import static org.bytedeco.cuda.global.cudart.cuMemFreeHost;
import static org.bytedeco.cuda.global.cudart.cuMemHostAlloc;
import static org.isobar.device.OutOfDeviceMemoryException.gigabytes;

import java.lang.foreign.MemorySegment;

import org.bytedeco.javacpp.Pointer;
import org.isobar.device.OutOfDeviceMemoryException;

/** Host memory that a GPU copies from and to by itself, while the host does something else. */
public final class PinnedMemory implements AutoCloseable {
    private final Gpu gpu;
    private final Pointer pointer = new Pointer();
    private final MemorySegment segment;

    /**
     * New memory, aligned to pages.
     *
     * @throws OutOfDeviceMemoryException if the host does not give so much
     */
    @SuppressWarnings("restricted") // the driver has just said that the memory is there
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

    /** As the driver's functions take it. */
    public Pointer pointer() {
        return pointer;
    }

    /** Frees the memory; once. */
    @Override
    public void close() {
        if (!pointer.isNull()) {
            gpu.release(() -> cuMemFreeHost(pointer)); // fails if the device has
            pointer.setNull();
        }
    }
}
