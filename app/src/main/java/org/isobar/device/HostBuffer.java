package org.isobar.device;

import java.lang.foreign.MemorySegment;

import org.isobar.tensor.Tensor;

/** Host memory from which a device reads its input, and the tensor under which operations see it. */
public interface HostBuffer extends AutoCloseable {
    /** The host memory, aligned to at least 64 bytes; the loader writes here. */
    MemorySegment segment();

    /**
     * Makes the current contents of {@link #segment} visible to operations issued from now on. A CPU returns a tensor
     * over the very same memory; a GPU copies. The segment may be written again once those operations have run.
     */
    Tensor toDevice();

    /** Frees the memory. */
    @Override
    void close();
}
