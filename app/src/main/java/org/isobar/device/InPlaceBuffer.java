package org.isobar.device;

import java.lang.foreign.MemorySegment;

import org.isobar.tensor.Tensor;

/**
 * Host memory that operations read as it lies, so that nothing is copied.
 *
 * @param segment the memory
 * @param tensor  the same memory as operations see it
 * @param free    frees it
 */
public record InPlaceBuffer(MemorySegment segment, Tensor tensor, Runnable free) implements HostBuffer {
    @Override
    public Tensor toDevice() {
        return tensor;
    }

    @Override
    public void release() { }

    @Override
    public void close() {
        free.run();
    }
}
