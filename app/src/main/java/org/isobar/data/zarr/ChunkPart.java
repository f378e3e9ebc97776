package org.isobar.data.zarr;

import java.lang.foreign.MemorySegment;

/**
 * The part of a chunk that belongs to a block of elements that is read. Offsets in a chunk count its dimensions in the
 * order in which it has them, offsets in the block in the order of the array.
 */
final class ChunkPart {
    private final int[] start; // of the block
    private final int[] count; // of the block
    private final int[] chunk; // extents of a decoded chunk
    private final ArrayMetadata metadata;
    private final int[] index;
    private final int[] from; // first element in the chunk
    private final int[] extents;
    private final long[] chunkStride; // in bytes, by dimension of the array
    private final long[] blockStride;

    /**
     * @param start index of the block's first element
     * @param count extents of the block, which has elements
     */
    ChunkPart(int[] start, int[] count, ArrayMetadata metadata) {
        this.start = start;
        this.count = count;
        this.metadata = metadata;
        chunk = metadata.decoded();
        int rank = start.length;
        index = new int[rank];
        from = new int[rank];
        extents = new int[rank];
        chunkStride = new long[rank];
        blockStride = new long[rank];
        long inChunk = metadata.type().bytes();
        long inBlock = inChunk;
        for (int i = rank - 1; i >= 0; i--) {
            int dim = metadata.dimOrder()[i];
            chunkStride[dim] = inChunk;
            inChunk *= chunk[dim];
            blockStride[i] = inBlock;
            inBlock *= count[i];
        }
    }

    /** Number of the first chunk in a dimension that has elements of the block. */
    int first(int dim) {
        return start[dim] / chunk[dim];
    }

    /** Number of the last one. */
    int last(int dim) {
        return (start[dim] + count[dim] - 1) / chunk[dim];
    }

    /** Makes this the part of another chunk. */
    void select(int dim, int number) {
        index[dim] = number;
        long origin = (long) number * chunk[dim];
        long begin = Math.max(start[dim], origin);
        from[dim] = (int) (begin - origin);
        extents[dim] = (int) (Math.min((long) start[dim] + count[dim], origin + chunk[dim]) - begin);
    }

    /** Number of the file that has the chunk. */
    int[] file() {
        int[] file = index.clone();
        for (int d = 0; d < file.length; d++) {
            file[d] /= metadata.chunk()[d] / chunk[d];
        }
        return file;
    }

    /** Number of chunks of a file. */
    long chunksOfFile() {
        long chunks = 1;
        for (int d = 0; d < chunk.length; d++) {
            chunks *= metadata.chunk()[d] / chunk[d];
        }
        return chunks;
    }

    /** Number of the chunk in its file, row-major. */
    long numberInFile() {
        long number = 0;
        for (int d = 0; d < chunk.length; d++) {
            int chunks = metadata.chunk()[d] / chunk[d];
            number = number * chunks + index[d] % chunks;
        }
        return number;
    }

    /** Offset of the first byte of the part in the chunk. */
    long byteOffset() {
        long offset = 0;
        for (int d = 0; d < from.length; d++) {
            offset += from[d] * chunkStride[d];
        }
        return offset;
    }

    /** Number of bytes of the chunk from the first to the last of the part. */
    long byteSize() {
        long last = metadata.type().bytes();
        for (int d = 0; d < extents.length; d++) {
            last += (extents[d] - 1) * chunkStride[d];
        }
        return last;
    }

    /** The place of the part in the block, if its bytes are in sequence in both; else null. */
    MemorySegment contiguousIn(MemorySegment block) {
        long bytes = metadata.type().bytes();
        for (int d = extents.length - 1; d >= 0; d--) {
            if (extents[d] > 1 && (chunkStride[d] != bytes || blockStride[d] != bytes)) {
                return null;
            }
            bytes *= extents[d];
        }
        return block.asSlice(place(), bytes);
    }

    /** Offset of the part in the block. */
    private long place() {
        long place = 0;
        for (int d = 0; d < index.length; d++) {
            place += ((long) index[d] * chunk[d] + from[d] - start[d]) * blockStride[d];
        }
        return place;
    }

    /**
     * Copies the part.
     *
     * @param decoded bytes of the chunk
     * @param offset  offset of their first one in the chunk
     */
    void copy(MemorySegment decoded, long offset, MemorySegment block) {
        copy(decoded, byteOffset() - offset, block, place(), 0);
    }

    private void copy(MemorySegment decoded, long source, MemorySegment block, long target, int dim) {
        int bytes = metadata.type().bytes();
        int inner = extents.length - 1;
        if (dim > inner) {
            MemorySegment.copy(decoded, source, block, target, bytes);
        } else if (dim == inner && chunkStride[dim] == bytes) {
            MemorySegment.copy(decoded, source, block, target, (long) extents[dim] * bytes);
        } else {
            for (int i = 0; i < extents[dim]; i++) {
                copy(decoded, source + i * chunkStride[dim], block, target + i * blockStride[dim], dim + 1);
            }
        }
    }

    /** Fills the part with an element. */
    void fill(byte[] element, MemorySegment block) {
        fill(MemorySegment.ofArray(element), block, place(), 0);
    }

    private void fill(MemorySegment element, MemorySegment block, long target, int dim) {
        if (dim == extents.length) {
            MemorySegment.copy(element, 0, block, target, element.byteSize());
            return;
        }
        for (int i = 0; i < extents[dim]; i++) {
            fill(element, block, target + i * blockStride[dim], dim + 1);
        }
    }
}
