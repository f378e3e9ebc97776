package org.isobar.data.zarr;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

import org.isobar.os.RegularFile;

/** An open file of chunks: of one, or of several with their offsets, which is a shard. */
final class ChunkFile implements AutoCloseable {
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int ENTRY_BYTES = 2 * Long.BYTES; // offset and length of a chunk

    private final FileChannel channel;
    private final long most;

    private ChunkFile(FileChannel channel, long most) {
        this.channel = channel;
        this.most = most;
    }

    /**
     * Opens a file; empty if it does not exist.
     *
     * @param most largest number of bytes that an encoded chunk can have
     */
    static Optional<ChunkFile> open(Path path, long most) throws IOException {
        try {
            return Optional.of(new ChunkFile(RegularFile.open(path), most));
        } catch (NoSuchFileException missing) {
            return Optional.empty();
        }
    }

    /** The only chunk. */
    ChunkBytes only(Scratch scratch) throws IOException, DamagedChunk {
        return bytes(0, channel.size(), scratch);
    }

    /**
     * A chunk of a shard; empty if the shard lacks it.
     *
     * @param number number of the chunk in the shard, row-major
     * @param chunks number of chunks of a shard
     */
    Optional<ChunkBytes> inner(ArrayMetadata.ChunkEncoding encoding, long number, long chunks, Scratch scratch)
        throws IOException, DamagedChunk {
        long indexBytes = chunks * ENTRY_BYTES + (encoding.indexSum() ? Integer.BYTES : 0);
        long size = channel.size();
        if (indexBytes > size) {
            throw new DamagedChunk("it has " + size + " bytes, and " + indexBytes + " of the offsets of its chunks "
                + "alone");
        }
        MemorySegment index = ChunkBytes.of(channel, encoding.indexLast() ? size - indexBytes : 0, indexBytes,
            scratch).all();
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
        return Optional.of(bytes(offset, length, scratch));
    }

    private ChunkBytes bytes(long offset, long size, Scratch scratch) throws IOException, DamagedChunk {
        if (size > most) {
            throw new DamagedChunk("it has " + size + " bytes, more than a chunk of these extents can have");
        }
        return ChunkBytes.of(channel, offset, size, scratch);
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
