package org.isobar.device;

import java.lang.foreign.MemorySegment;

import org.isobar.tensor.Tensor;

/** A host buffer for device input, with the tensor through which operations read it. */
public interface HostBuffer extends AutoCloseable {
    /**
     * The host memory, aligned to at least 64 bytes, that the data loader writes to. Waits until the device has read
     * the contents of the last {@link #toDevice} call. May be called from any thread.
     */
    MemorySegment segment();

    /**
     * Makes the current contents of {@link #segment} visible to operations issued after this call. A CPU returns a
     * tensor over the same memory. A GPU copies into one of a few staging slots that buffers of this size share.
     */
    Tensor toDevice();

    /**
     * Declares that operations issued after this call do not read the tensor of {@link #toDevice}; its slot can be
     * reused.
     */
    void release();

    /** Frees the memory. */
    @Override
    void close();
}
