package org.isobar.checkpoint.safetensors;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import org.isobar.os.RegularFile;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/**
 * A safetensors file, open for reading: 8 bytes of header length (little-endian), a JSON header, the data. Opening it
 * reads only the header. Tensors are read one at a time, not mapped into memory, so a file that becomes shorter is an
 * error of reading. Thread-safe. Source: the description of the format at github.com/huggingface/safetensors.
 */
public final class SafeTensorsFile implements StoredTensors {
    /** Layout of the header length at the start of a file. */
    public static final ValueLayout.OfLong LENGTH =
        ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    /** Maximum header length: that of the reference implementation. */
    public static final int MAX_HEADER_BYTES = 100_000_000;

    private static final int BLOCK_BYTES = 1 << 20; // a multiple of all elements

    private final Path path;
    private final FileChannel channel;
    private final SafeTensorsHeader header;
    private final long dataStart;

    private SafeTensorsFile(Path path, FileChannel channel)
        throws IOException, SafeTensorsHeader.MalformedException {
        this.path = path;
        this.channel = channel;
        long bytes = channel.size();
        if (bytes < Long.BYTES) {
            throw new SafeTensorsHeader.MalformedException("it has " + bytes + " bytes");
        }
        long length = MemorySegment.ofArray(bytes(0, Long.BYTES)).get(LENGTH, 0);
        if (length < 0 || length > MAX_HEADER_BYTES) {
            throw new SafeTensorsHeader.MalformedException("its header claims "
                + Long.toUnsignedString(length) + " bytes");
        }
        dataStart = Long.BYTES + length;
        if (dataStart > bytes) {
            throw new SafeTensorsHeader.MalformedException("it is truncated: its header claims " + length
                + " bytes, and only " + (bytes - Long.BYTES) + " follow");
        }
        header = SafeTensorsHeader.parse(bytes(Long.BYTES, (int) length), bytes - dataStart);
    }

    /**
     * Opens a file and checks its header.
     *
     * @throws UserException if the file cannot be read, is not a regular file or is not a complete safetensors file
     */
    public static SafeTensorsFile open(Path path) {
        FileChannel channel = null;
        try {
            channel = RegularFile.open(path);
            return new SafeTensorsFile(path, channel);
        } catch (IOException e) {
            close(channel);
            throw FileFault.unreadable("weights " + path, e);
        } catch (SafeTensorsHeader.MalformedException e) {
            close(channel);
            throw new UserException(path + " is not a complete safetensors file: " + e.getMessage()
                + "; copy or write it again", e);
        }
    }

    /** Names of the tensors, in the order of the header. */
    @Override
    public List<String> names() {
        return List.copyOf(header.entries().keySet());
    }

    /** The entries of {@code __metadata__}. */
    public Map<String, String> metadata() {
        return Map.copyOf(header.metadata());
    }

    /**
     * Shape of a tensor.
     *
     * @throws UserException if the file has no such tensor
     */
    @Override
    public Shape shape(String name) {
        return entry(name).shape();
    }

    /**
     * Copies a tensor into {@code destination} as binary32; F64, F16 and BF16 are converted.
     *
     * @param destination receives all elements as floats
     * @throws UserException if the file has no such tensor, or its elements are not floating-point numbers
     */
    @Override
    public void read(String name, MemorySegment destination) {
        SafeTensorsHeader.Entry entry = entry(name);
        if (!entry.type().isReadable()) {
            throw new UserException("tensor " + name + " of " + path + " is stored as " + entry.type()
                + "; store it as F32, F64, F16 or BF16");
        }
        if (destination.byteSize() != entry.shape().elements() * DType.F32.bytes()) {
            throw new IllegalArgumentException(name + " " + entry.shape() + " into " + destination.byteSize()
                + " bytes");
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment block = arena.allocate(BLOCK_BYTES, Long.BYTES);
            long bytes = entry.end() - entry.begin();
            for (long done = 0; done < bytes; done += BLOCK_BYTES) {
                MemorySegment stored = block.asSlice(0, Math.min(BLOCK_BYTES, bytes - done));
                fill(stored.asByteBuffer(), dataStart + entry.begin() + done);
                entry.type().toFloats(stored, destination.asSlice(done / entry.type().bytes() * DType.F32.bytes()));
            }
        } catch (IOException e) {
            throw FileFault.unreadable("weights " + path, e);
        }
    }

    /** Closes the file. */
    @Override
    public void close() {
        close(channel);
    }

    private static void close(FileChannel channel) {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException alreadyRead) {
            // Closing a file that was only read loses nothing.
        }
    }

    private SafeTensorsHeader.Entry entry(String name) {
        SafeTensorsHeader.Entry entry = header.entries().get(name);
        if (entry == null) {
            throw new UserException("no tensor " + name + " in " + path + "; give weights of the configured model");
        }
        return entry;
    }

    private byte[] bytes(long from, int length) throws IOException {
        byte[] bytes = new byte[length];
        fill(ByteBuffer.wrap(bytes), from);
        return bytes;
    }

    private void fill(ByteBuffer buffer, long from) throws IOException {
        while (buffer.hasRemaining()) {
            if (channel.read(buffer, from + buffer.position()) < 0) {
                throw new EOFException("it has become shorter, and ends after " + channel.size() + " bytes");
            }
        }
    }
}
