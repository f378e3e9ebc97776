package org.isobar.data;

import java.lang.foreign.MemorySegment;

import org.isobar.device.HostBuffer;
import org.isobar.tensor.Tensor;

/** Brings the images of a batch from the files to a device, and normalizes them on the host or on the device. */
interface BatchPipeline extends AutoCloseable {
    /**
     * Reads a sample into host memory, as {@link Era5Dataset#read} does. Whether it is normalized already depends on
     * the implementation. Thread-safe.
     */
    void read(long sample, MemorySegment input, long inputOffset, MemorySegment target, long targetOffset);

    /**
     * Copies what was read into {@code slot}, (B, C, H, W), to the device and returns the normalized tensor, for
     * operations issued after this call. To be called once for each time that the slot was filled.
     */
    Tensor deliver(HostBuffer slot);

    /** Frees its device memory. */
    @Override
    default void close() { }

    /** Normalizes images on the host while reading them. {@link #deliver} returns when the device has its copy. */
    record OnHost(Era5Dataset dataset) implements BatchPipeline {
        @Override
        public void read(long sample, MemorySegment input, long inputOffset, MemorySegment target, long targetOffset) {
            dataset.read(sample, input, inputOffset, target, targetOffset);
        }

        @Override
        public Tensor deliver(HostBuffer slot) {
            Tensor images = slot.toDevice();
            slot.segment(); // waits for the copy
            return images;
        }
    }
}
