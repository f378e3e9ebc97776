package org.isobar.data.zarr;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

import org.isobar.data.zarr.Scratch.Use;

/** The encoded bytes of a chunk, of which parts can be read: a part of a file, or memory. */
final class ChunkBytes {
    /** Fewer bytes are read at once. */
    private static final long READ_AT_ONCE = 1 << 20;

    private final FileChannel file; // null if all bytes are in memory
    private final long origin;
    private final long size;
    private final Scratch scratch;
    private final MemorySegment all; // null if they are not in memory

    private ChunkBytes(FileChannel file, long origin, long size, Scratch scratch, MemorySegment all) {
        this.file = file;
        this.origin = origin;
        this.size = size;
        this.scratch = scratch;
        this.all = all;
    }

    /** Bytes in memory. */
    static ChunkBytes of(MemorySegment all) {
        return new ChunkBytes(null, 0, all.byteSize(), null, all);
    }

    /**
     * A part of an open file.
     *
     * @param origin offset of the part
     * @param size   its size
     */
    static ChunkBytes of(FileChannel file, long origin, long size, Scratch scratch) throws IOException, DamagedChunk {
        ChunkBytes bytes = new ChunkBytes(file, origin, size, scratch, null);
        return size <= READ_AT_ONCE ? of(bytes.all()) : bytes;
    }

    /** Number of bytes. */
    long size() {
        return size;
    }

    /** All bytes. The result is valid until the next call. */
    MemorySegment all() throws IOException, DamagedChunk {
        return at(0, size);
    }

    /**
     * Some of the bytes. The result is valid until the next call.
     *
     * @throws DamagedChunk if there are not as many
     */
    MemorySegment at(long offset, long bytes) throws IOException, DamagedChunk {
        if (offset < 0 || bytes < 0 || offset > size - bytes) {
            throw new DamagedChunk("it is cut off or damaged: byte " + (offset + bytes) + " is needed, and it has "
                + size);
        }
        if (all != null) {
            return all.asSlice(offset, bytes);
        }
        MemorySegment target = scratch.take(Use.ENCODED, bytes);
        read(offset, target);
        return target;
    }

    /**
     * Reads some of the bytes.
     *
     * @param target as large as the part
     */
    void read(long offset, MemorySegment target) throws IOException, DamagedChunk {
        if (all != null) {
            target.copyFrom(at(offset, target.byteSize()));
            return;
        }
        ByteBuffer buffer = target.asByteBuffer();
        while (buffer.hasRemaining()) {
            if (file.read(buffer, origin + offset + buffer.position()) < 0) {
                throw new DamagedChunk("it became shorter while it was read");
            }
        }
    }
}
