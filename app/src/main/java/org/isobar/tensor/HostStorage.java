package org.isobar.tensor;

import java.lang.foreign.MemorySegment;

/**
 * Host memory outside the Java heap, of a CPU or on the way to another device.
 *
 * @param segment the memory; whoever allocated it frees it
 */
public record HostStorage(MemorySegment segment) implements Storage {
    /** The bytes of {@code tensor}, which lies in such storage, no more and no less; shares memory. */
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
