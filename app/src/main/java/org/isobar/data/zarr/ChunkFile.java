package org.isobar.data.zarr;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

import org.isobar.data.zarr.Scratch.Use;
import org.isobar.os.RegularFile;

/** Reads the encoded bytes of chunks: of one that is a file, or of one among others in a shard. */
final class ChunkFile {
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int ENTRY_BYTES = 2 * Long.BYTES; // offset and length of a chunk

    private ChunkFile() { }

    /**
     * Reads a file that is one chunk; empty if it does not exist.
     *
     * @param most largest number of bytes that it can have
     */
    static Optional<MemorySegment> read(Path file, long most, Scratch scratch) throws IOException, DamagedChunk {
        try (FileChannel channel = RegularFile.open(file)) {
            return Optional.of(read(channel, 0, channel.size(), most, scratch));
        } catch (NoSuchFileException missing) {
            return Optional.empty();
        }
    }

    /**
     * Reads a chunk of a shard; empty if the shard does not exist or lacks the chunk.
     *
     * @param number number of the chunk in the shard, row-major
     * @param chunks number of chunks of a shard
     */
    static Optional<MemorySegment> read(Path file, ArrayMetadata.ChunkEncoding encoding, long number, long chunks,
                                        long most, Scratch scratch) throws IOException, DamagedChunk {
        try (FileChannel channel = RegularFile.open(file)) {
            long indexBytes = chunks * ENTRY_BYTES + (encoding.indexSum() ? Integer.BYTES : 0);
            long size = channel.size();
            if (indexBytes > size) {
                throw new DamagedChunk("it has " + size + " bytes, and " + indexBytes
                    + " of the offsets of its chunks alone");
            }
            MemorySegment index = read(channel, encoding.indexLast() ? size - indexBytes : 0, indexBytes, indexBytes,
                scratch);
            if (encoding.indexSum()) {
                Crc32cCodec.check(index);
            }
            long offset = index.get(LONG, number * ENTRY_BYTES);
            long length = index.get(LONG, number * ENTRY_BYTES + Long.BYTES);
            if (offset == -1 && length == -1) {
                return Optional.empty();
            }
            if (offset < 0 || length < 0 || offset > size - length) {
                throw new DamagedChunk("its chunk " + number + " ends behind the end of the file, at byte " + size);
            }
            return Optional.of(read(channel, offset, length, most, scratch));
        } catch (NoSuchFileException missing) {
            return Optional.empty();
        }
    }

    private static MemorySegment read(FileChannel channel, long offset, long bytes, long most, Scratch scratch)
        throws IOException, DamagedChunk {
        if (bytes > most) {
            throw new DamagedChunk("it has " + bytes + " bytes, more than a chunk of these extents can have");
        }
        MemorySegment encoded = scratch.take(Use.ENCODED, bytes);
        ByteBuffer buffer = encoded.asByteBuffer();
        while (buffer.hasRemaining()) {
            if (channel.read(buffer, offset + buffer.position()) < 0) {
                throw new DamagedChunk("it became shorter while it was read");
            }
        }
        return encoded;
    }
}
