package org.isobar.device;

import java.lang.foreign.MemorySegment;

import org.isobar.tensor.Tensor;

/** Host memory from which a device reads its input, and the tensor under which operations see it. */
public interface HostBuffer extends AutoCloseable {
    /**
     * The host memory, aligned to at least 64 bytes; the loader writes here. Waits until the device has read what
     * {@link #toDevice} was last called for; any thread may ask.
     */
    MemorySegment segment();

    /**
     * Makes the current contents of {@link #segment} visible to operations issued from now on. A CPU returns a tensor
     * over the very same memory; a GPU copies into one of a few places that it has for all buffers of this size.
     */
    Tensor toDevice();

    /** Operations issued from now on do not read the tensor of {@link #toDevice}: its place may be used again. */
    void release();

    /** Frees the memory. */
    @Override
    void close();
}
