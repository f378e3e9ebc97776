package org.isobar.device;

import java.lang.foreign.MemorySegment;

import org.isobar.tensor.Tensor;

/**
 * A host buffer that operations read directly, without a copy.
 *
 * @param segment the memory
 * @param tensor  a tensor over the same memory
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
