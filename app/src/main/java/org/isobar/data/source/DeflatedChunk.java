package org.isobar.data.source;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * Decodes chunks of HDF5's usual filters, deflate with or without shuffle, one after another into the same memory.
 */
final class DeflatedChunk {
    private final ZlibStream zlib = new ZlibStream();
    private final MemorySegment inflated;
    private final int elementBytes;
    private final boolean shuffled;

    /**
     * @param bytes    size of a decoded chunk
     * @param shuffled whether the bytes of its elements were shuffled
     */
    DeflatedChunk(int bytes, int elementBytes, boolean shuffled) {
        inflated = MemorySegment.ofArray(new byte[bytes]);
        this.elementBytes = elementBytes;
        this.shuffled = shuffled;
    }

    /**
     * Decodes a chunk.
     *
     * @param raw the chunk as stored
     * @return empty if the chunk is not exactly so many deflated bytes, as one that was stored without the filter;
     *     valid until the next call
     */
    Optional<ChunkedBlock.Chunk> decode(ByteBuffer raw) {
        if (!zlib.decompress(MemorySegment.ofBuffer(raw), inflated)) {
            return Optional.empty();
        }
        return Optional.of(shuffled
            ? (first, count, target) -> Unshuffle.bytes(inflated, elementBytes, first, count, target)
            : ChunkedBlock.Chunk.of(inflated, elementBytes));
    }
}
