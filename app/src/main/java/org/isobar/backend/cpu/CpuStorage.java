package org.isobar.backend.cpu;

import java.lang.foreign.MemorySegment;

import org.isobar.tensor.Storage;

/**
 * Host memory outside the Java heap, aligned to at least 64 bytes.
 *
 * @param segment the memory; whoever allocated it frees it
 */
record CpuStorage(MemorySegment segment) implements Storage {
    @Override
    public long address() {
        return segment.address();
    }

    @Override
    public long bytes() {
        return segment.byteSize();
    }
}
