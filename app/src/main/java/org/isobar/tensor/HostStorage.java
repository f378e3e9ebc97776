package org.isobar.tensor;

import java.lang.foreign.MemorySegment;

/**
 * Host memory outside the Java heap: memory of a CPU device, or a staging buffer of another device.
 *
 * @param segment the memory; its allocator frees it
 */
public record HostStorage(MemorySegment segment) implements Storage {
    /** The memory of exactly the bytes of {@code tensor}, whose storage must be of this type; shares memory. */
    public static MemorySegment of(Tensor tensor) {
        return ((HostStorage) tensor.storage()).segment.asSlice(tensor.offset(), tensor.bytes());
    }

    @Override
    public long address() {
        return segment.address();
    }

    @Override
    public long bytes() {
        return segment.byteSize();
    }
}
