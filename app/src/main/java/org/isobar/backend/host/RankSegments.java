package org.isobar.backend.host;

import java.lang.foreign.MemorySegment;

/** Divides the memory of a tensor into one consecutive segment per rank, and segments into chunks. */
final class RankSegments {
    private final long[] offsets; // in bytes; one more than there are ranks

    /** Segments with the given numbers of elements. */
    RankSegments(long[] sizes, int elementBytes) {
        offsets = new long[sizes.length + 1];
        for (int rank = 0; rank < sizes.length; rank++) {
            offsets[rank + 1] = offsets[rank] + sizes[rank] * elementBytes;
        }
    }

    /** The segment of the rank with index {@code rank} in the memory {@code whole}. */
    MemorySegment of(MemorySegment whole, int rank) {
        return whole.asSlice(offsets[rank], bytes(rank));
    }

    /** Chunk {@code chunk} of the segment of {@code rank}; empty beyond the end of the segment. */
    MemorySegment chunk(MemorySegment whole, int rank, long chunk, long chunkBytes) {
        return chunk(of(whole, rank), chunk, chunkBytes);
    }

    /** Chunk {@code chunk} of {@code segment}; empty beyond its end. */
    static MemorySegment chunk(MemorySegment segment, long chunk, long chunkBytes) {
        long start = Math.min(chunk * chunkBytes, segment.byteSize());
        return segment.asSlice(start, Math.min(chunkBytes, segment.byteSize() - start));
    }

    /** Number of chunks of the largest segment. */
    long chunks(long chunkBytes) {
        long chunks = 0;
        for (int rank = 0; rank < offsets.length - 1; rank++) {
            chunks = Math.max(chunks, Math.ceilDiv(bytes(rank), chunkBytes));
        }
        return chunks;
    }

    private long bytes(int rank) {
        return offsets[rank + 1] - offsets[rank];
    }
}
