package org.isobar.checkpoint;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.isobar.checkpoint.safetensors.SafeTensorsHeader;
import org.isobar.checkpoint.safetensors.SafeTensorsHeader.MalformedException;
import org.isobar.checkpoint.safetensors.SafeTensorsType;
import org.isobar.os.RegularFile;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/**
 * A shard file, open for reading. It is read in blocks, and a block is used only if its checksum matches. The last
 * block is cached, because reads are mostly sequential. Not thread-safe.
 */
final class ShardFile implements AutoCloseable {
    private static final ValueLayout.OfFloat FLOAT =
        ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final FileChannel channel;
    private final StoredFile expected;
    private final int blockBytes;
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment block;
    private final ByteBuffer buffer; // a view of block
    private long loaded = -1; // index of the block in the buffer
    private SafeTensorsHeader header;
    private long dataStart;

    private ShardFile(FileChannel channel, StoredFile expected, int blockBytes) {
        this.channel = channel;
        this.expected = expected;
        this.blockBytes = blockBytes;
        block = arena.allocate(Math.min(blockBytes, Math.max(1, expected.bytes())), Float.BYTES);
        buffer = block.asByteBuffer();
    }

    /** Opens a file without reading it. */
    static ShardFile open(Path path, CheckpointManifest manifest) throws IOException {
        return new ShardFile(RegularFile.open(path),
            manifest.files().get(path.getFileName().toString()), manifest.blockBytes());
    }

    /**
     * Byte offset in the file of a tensor's first element.
     *
     * @throws MalformedException if the file has no F32 tensor of that name and shape
     */
    long find(String name, Shape shape) throws IOException, MalformedException {
        if (header == null) {
            readHeader();
        }
        SafeTensorsHeader.Entry entry = header.entries().get(name);
        if (entry == null || entry.type() != SafeTensorsType.F32 || !entry.shape().equals(shape)) {
            throw new MalformedException("it has no tensor " + name + " " + shape + " of " + SafeTensorsType.F32);
        }
        long start = dataStart + entry.begin();
        if (start % DType.F32.bytes() != 0) {
            throw new MalformedException("tensor " + name + " begins at byte " + start
                + ", which is not a multiple of " + DType.F32.bytes());
        }
        return start;
    }

    /**
     * Fills {@code destination} with numbers of the file, starting at byte {@code from}. No number spans two blocks.
     */
    void read(long from, MemorySegment destination) throws IOException, MalformedException {
        each(from, destination.byteSize(), (at, done, count) -> MemorySegment.copy(block, FLOAT, at,
            destination, ValueLayout.JAVA_FLOAT_UNALIGNED, done, count / DType.F32.bytes()));
    }

    /** Checks all blocks and returns a message for each damaged one; a single message if the file's size is wrong. */
    List<String> damage() throws IOException {
        List<String> damage = new ArrayList<>();
        if (channel.size() != expected.bytes()) {
            return List.of("it has " + channel.size() + " bytes instead of " + expected.bytes());
        }
        for (long index = 0; index < expected.crc32c().size(); index++) {
            try {
                load(index);
            } catch (MalformedException e) {
                damage.add(e.getMessage());
            }
        }
        return damage;
    }

    @Override
    public void close() throws IOException {
        arena.close();
        channel.close();
    }

    private void readHeader() throws IOException, MalformedException {
        if (expected.bytes() < Long.BYTES) {
            throw new MalformedException("it has " + expected.bytes() + " bytes");
        }
        long length = MemorySegment.ofArray(bytes(0, Long.BYTES)).get(SafeTensorsFile.LENGTH, 0);
        if (length < 0 || length > Math.min(SafeTensorsFile.MAX_HEADER_BYTES, expected.bytes() - Long.BYTES)) {
            throw new MalformedException("its header claims " + Long.toUnsignedString(length) + " bytes");
        }
        dataStart = Long.BYTES + length;
        header = SafeTensorsHeader.parse(bytes(Long.BYTES, (int) length), expected.bytes() - dataStart);
    }

    private byte[] bytes(long from, int length) throws IOException, MalformedException {
        byte[] bytes = new byte[length];
        each(from, length, (at, done, count) ->
            MemorySegment.copy(block, ValueLayout.JAVA_BYTE, at, bytes, (int) done, (int) count));
        return bytes;
    }

    /** Receives a part of a range: its offset in the loaded block, its offset in the range, and its length in bytes. */
    private interface Part {
        void accept(long at, long done, long count);
    }

    /** Loads the blocks of a range of the file one by one and passes each part of the range on. */
    private void each(long from, long length, Part part) throws IOException, MalformedException {
        long done = 0;
        while (done < length) {
            long index = (from + done) / blockBytes;
            load(index);
            long at = from + done - index * blockBytes;
            long count = Math.min(buffer.limit() - at, length - done);
            part.accept(at, done, count);
            done += count;
        }
    }

    private void load(long index) throws IOException, MalformedException {
        if (index == loaded) {
            return;
        }
        loaded = -1;
        long from = index * blockBytes;
        buffer.clear().limit((int) Math.min(blockBytes, expected.bytes() - from));
        while (buffer.hasRemaining()) {
            if (channel.read(buffer, from + buffer.position()) < 0) {
                throw new EOFException("it ends after " + channel.size() + " bytes");
            }
        }
        buffer.flip();
        CRC32C sum = new CRC32C();
        sum.update(buffer.duplicate());
        if (sum.getValue() != expected.crc32c().get((int) index)) {
            throw new MalformedException("bytes " + from + " to " + (from + buffer.limit() - 1)
                + " are damaged");
        }
        loaded = index;
    }
}
