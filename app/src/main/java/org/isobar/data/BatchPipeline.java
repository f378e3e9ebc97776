package org.isobar.data;

import java.lang.foreign.MemorySegment;

import org.isobar.device.HostBuffer;
import org.isobar.tensor.Tensor;

/** The way of a batch's fields from the files to a device, and where on it they are normalized. */
interface BatchPipeline extends AutoCloseable {
    /** Reads a sample as {@link Era5Dataset#read} does, normalized already or not; any thread. */
    void read(long sample, MemorySegment input, long inputOffset, MemorySegment target, long targetOffset);

    /** What was read, (B, C, H, W), as a normalized tensor for operations issued from now on. Once for each reading. */
    Tensor deliver(HostBuffer slot);

    /** Frees what it has of the device. */
    @Override
    default void close() { }
}
