package org.isobar.backend.host;

import java.lang.foreign.MemorySegment;

/** A range of elements cut into one consecutive part for each rank, each of which is moved in chunks. */
final class RankSegments {
    private final long[] starts; // bytes; one more than there are parts

    /** Parts of the given numbers of elements. */
    RankSegments(long[] sizes, int elementBytes) {
        starts = new long[sizes.length + 1];
        for (int part = 0; part < sizes.length; part++) {
            starts[part + 1] = starts[part] + sizes[part] * elementBytes;
        }
    }

    /** Part {@code part} of the whole range. */
    MemorySegment of(MemorySegment whole, int part) {
        return whole.asSlice(starts[part], bytes(part));
    }

    /** Chunk {@code chunk} of part {@code part} of the whole range; empty behind the end of the part. */
    MemorySegment chunk(MemorySegment whole, int part, long chunk, long chunkBytes) {
        return chunk(of(whole, part), chunk, chunkBytes);
    }

    /** Chunk {@code chunk} of {@code part}; empty behind its end. */
    static MemorySegment chunk(MemorySegment part, long chunk, long chunkBytes) {
        long start = Math.min(chunk * chunkBytes, part.byteSize());
        return part.asSlice(start, Math.min(chunkBytes, part.byteSize() - start));
    }

    /** Number of chunks of the largest part. */
    long chunks(long chunkBytes) {
        long chunks = 0;
        for (int part = 0; part < starts.length - 1; part++) {
            chunks = Math.max(chunks, Math.ceilDiv(bytes(part), chunkBytes));
        }
        return chunks;
    }

    private long bytes(int part) {
        return starts[part + 1] - starts[part];
    }
}
